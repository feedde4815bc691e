// The page in a cell of a notebook, in a frame that reaches nothing around it. When a new one comes, it opens at the place
// that was seen last.
export default {
  render({ model, el }) {
    const said = document.createElement("p"), frame = document.createElement("iframe");
    Object.assign(frame, { title: "autograph", name: "autograph", width: "100%", height: "600" });
    frame.setAttribute("sandbox", "allow-scripts allow-downloads");
    Object.assign(frame.style, { border: "1px solid #ccc", borderRadius: "6px" });
    said.setAttribute("role", "status");
    el.append(said, frame);
    let place = "";
    const heard = ({ source, data }) => {
      if (source !== frame.contentWindow || !data || data.autograph !== 1 || typeof data.place !== "string") return;
      place = data.place.split("&").filter((part) => !part.startsWith("step=")).join("&");
    };
    const show = () => {
      const meta = document.createElement("meta");
      Object.assign(meta, { name: "place", content: place });
      frame.srcdoc = model.get("page").replace("<head>", () => "<head>" + meta.outerHTML);
    };
    const say = () => { said.textContent = model.get("said"); };
    addEventListener("message", heard);
    model.on("change:page", show);
    model.on("change:said", say);
    say();
    if (model.get("page")) show();
    return () => removeEventListener("message", heard);
  },
};
