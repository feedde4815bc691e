// The picture as it is seen, as SVG or PNG: to the clipboard, or where that is not allowed, to a file.
const copyOf = (page) => {
  const LARGEST = 8000;
  const text = () => {
    const copy = page.view.svg.cloneNode(true), { w, h } = page.camera.full();
    for (const element of copy.querySelectorAll(".gone, .sign")) element.remove();
    for (const element of copy.querySelectorAll("[tabindex], [role], [aria-label]")) for (const name of ["tabindex", "role", "aria-label", "aria-expanded", "class"]) element.removeAttribute(name);
    for (const name of ["style", "class", "role", "aria-label"]) copy.removeAttribute(name);
    copy.setAttribute("width", w + "pt");
    copy.setAttribute("height", h + "pt");
    return new XMLSerializer().serializeToString(copy);
  };
  const keep = (blob, ending) => {
    const link = make("a", null, { download: `${page.data.title.replace(/[^\w.-]+/g, "_") || "graph"}.${page.view.told.key}.${ending}`, href: URL.createObjectURL(blob) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    say(`Saved as ${link.download}`);
  };
  const raster = (svg) => new Promise((resolve, reject) => {
    const image = new Image(), url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
    image.onload = () => {
      const { w, h } = page.camera.full(), scale = Math.min(2, LARGEST / w, LARGEST / h);
      const canvas = make("canvas", null, { width: Math.ceil(w * scale), height: Math.ceil(h * scale) });
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      URL.revokeObjectURL(url);
      canvas.toBlob(resolve, "image/png");
    };
    image.onerror = reject;
    image.src = url;
  });
  const copy = async (kind) => {
    const svg = text();
    const blob = kind === "svg" ? new Blob([svg], { type: "image/svg+xml" }) : await raster(svg);
    try {
      if (kind === "svg") await navigator.clipboard.writeText(svg);
      else await navigator.clipboard.write([new ClipboardItem({ "image/png": blob })]);
      say(`Copied as ${kind.toUpperCase()}`);
    } catch {
      keep(blob, kind);
    }
  };
  for (const kind of ["svg", "png"]) get(kind).addEventListener("click", () => copy(kind));
};
