// A map of the whole picture in its corner, with what is seen of it; a click or a drag moves there.
const minimapOf = (page) => {
  const map = get("map"), frame = get("picture"), ink = map.getContext("2d");
  let drawn = [], scale = 1;
  const paint = () => {
    const { camera } = page, dark = getComputedStyle(map).color;
    const around = [frame.clientWidth, frame.clientHeight].map((side) => side / camera.eye.scale), { w, h } = camera.full();
    const all = camera.eye.x < 0.02 * w && camera.eye.y < 0.02 * h && camera.eye.x + around[0] > 0.98 * w && camera.eye.y + around[1] > 0.98 * h;
    map.classList.toggle("gone", all); // a map of what is seen whole would only cover a part of it
    ink.clearRect(0, 0, map.width, map.height);
    for (const [x, y, width, height, colour] of drawn) { ink.fillStyle = colour; ink.fillRect(x * scale, y * scale, Math.max(1, width * scale), Math.max(1, height * scale)); }
    ink.strokeStyle = dark;
    ink.lineWidth = 1.5;
    ink.strokeRect(camera.eye.x * scale, camera.eye.y * scale, around[0] * scale, around[1] * scale);
  };
  const survey = () => {
    const { w, h } = page.camera.full();
    const ratio = devicePixelRatio || 1, [wide, high] = matchMedia("(max-width: 700px)").matches ? [70, 80] : [150, 110], room = Math.min(wide / w, high / h);
    map.width = Math.max(24, w * room) * ratio; map.height = Math.max(24, h * room) * ratio;
    map.style.width = map.width / ratio + "px"; map.style.height = map.height / ratio + "px";
    scale = room * ratio;
    const { view, camera } = page, around = view.svg.getBoundingClientRect();
    const shown = [...view.modules.frames.filter((frame) => frame.top === frame).map((frame) => frame.shut), ...view.boxes.values()];
    drawn = shown.map((element) => [element.firstElementChild, element.firstElementChild.getBoundingClientRect()]).filter(([, at]) => at.width)
      .map(([shape, at]) => [(at.left - around.left) / camera.eye.scale, (at.top - around.top) / camera.eye.scale, at.width / camera.eye.scale, at.height / camera.eye.scale, shape.getAttribute("stroke") || "#888"]);
    paint();
  };
  const go = (event) => {
    const at = map.getBoundingClientRect(), ratio = map.width / at.width;
    page.camera.look((event.clientX - at.left) * ratio / scale, (event.clientY - at.top) * ratio / scale);
  };
  map.addEventListener("pointerdown", (event) => { map.setPointerCapture(event.pointerId); go(event); });
  map.addEventListener("pointermove", (event) => { if (map.hasPointerCapture(event.pointerId)) go(event); });
  new ResizeObserver(() => { if (page.view && !drawn.length) survey(); }).observe(frame); // what has no size has no shapes to draw
  let waiting = false;
  return { survey, moved: () => { if (!waiting) { waiting = true; requestAnimationFrame(() => { waiting = false; paint(); }); } } };
};
