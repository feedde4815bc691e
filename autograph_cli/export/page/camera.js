// Pan and zoom. The picture is drawn once and moved as a whole; it is drawn anew when it comes to rest.
const cameraOf = (frame) => {
  const READABLE = 1, TITLES = 0.6, SMALLEST = 9; // where the smallest text can be read; where titles alone are as high and have room
  const eye = { x: 0, y: 0, scale: 1 };
  const camera = { eye, moved: 0, onmove: () => {}, onzoom: () => {}, onsize: () => {}, onhand: () => {} };
  let svg = null, full = { w: 1, h: 1 }, idle = 0, sharp = 1, home = null, fitted = 0;
  const rest = () => {
    sharp = eye.scale;
    svg.classList.remove("moving");
    const least = eye.scale === fitted ? TITLES : 0.25; // what is made to fit has no words that are too small to be read
    svg.classList.toggle("far", eye.scale < least);
    svg.classList.toggle("brief", eye.scale === fitted && eye.scale < READABLE);
    svg.style.fontSize = svg.classList.contains("brief") && eye.scale < 0.75 ? `${SMALLEST / eye.scale}px` : "";
  };
  const draw = () => {
    if (!svg) return;
    svg.style.transform = `translate(${-eye.x * eye.scale}px,${-eye.y * eye.scale}px) scale(${eye.scale})`;
    camera.onmove();
    clearTimeout(idle);
    if (eye.scale < sharp / 3 || eye.scale > sharp * 6) return rest();
    svg.classList.add("moving");
    idle = setTimeout(rest, 150);
  };
  const show = () => { home = null; draw(); };
  const place = (event) => { const at = frame.getBoundingClientRect(); return [eye.x + (event.clientX - at.left) / eye.scale, eye.y + (event.clientY - at.top) / eye.scale]; };
  const whole = () => Math.min(frame.clientWidth / full.w, frame.clientHeight / full.h, 2) || 1;
  camera.look = (x, y, scale = eye.scale) => {
    Object.assign(eye, { scale, x: x - frame.clientWidth / scale / 2, y: y - frame.clientHeight / scale / 2 });
    show();
  };
  camera.fit = () => { fitted = whole(); camera.look(full.w / 2, full.h / 2, fitted); rest(); };
  camera.zoom = (factor, x = eye.x + frame.clientWidth / eye.scale / 2, y = eye.y + frame.clientHeight / eye.scale / 2) => {
    const scale = Math.min(Math.max(eye.scale * factor, whole() / 2), 8), to = scale / eye.scale;
    Object.assign(eye, { scale, x: x - (x - eye.x) / to, y: y - (y - eye.y) / to });
    show();
    camera.onzoom(factor, x, y);
  };
  camera.move = (dx, dy) => { eye.x += dx / eye.scale; eye.y += dy / eye.scale; show(); };
  camera.goTo = (element) => {
    const box = element.getBoundingClientRect(), [x, y] = place({ clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 });
    camera.look(x, y, Math.max(eye.scale, 1));
  };
  /** Move as little as it takes to see an element. */
  camera.keep = (element) => {
    const at = element.getBoundingClientRect(), around = frame.getBoundingClientRect();
    const over = (low, high, from, to) => (low < from ? low - from - 40 : high > to ? high - to + 40 : 0);
    const dx = over(at.left, at.right, around.left, around.right), dy = over(at.top, at.bottom, around.top, around.bottom);
    if (dx || dy) camera.move(dx, dy);
  };
  /** All of it if that can be read; else its upper end, with this box. */
  const start = (first) => {
    const scale = Math.max(whole(), READABLE);
    if (scale <= whole()) return camera.fit();
    const half = frame.clientWidth / scale / 2, beside = Math.min(Math.max(first, half), full.w - half);
    camera.look(half * 2 >= full.w ? full.w / 2 : beside, frame.clientHeight / scale / 2, scale);
  };
  camera.start = (first) => { start(first); home = first; };
  camera.stand = (at) => { Object.assign(eye, at); show(); };
  /** Whether it is looked at as it was first. */
  camera.home = () => home !== null;
  camera.size = (size) => {
    full = size;
    svg.setAttribute("viewBox", `0 0 ${full.w} ${full.h}`);
    svg.style.width = full.w + "px";
    svg.style.height = full.h + "px";
  };
  camera.full = () => full;
  /** Look at another picture, from where it was looked at last. */
  camera.film = (other, size, from) => {
    svg = other;
    sharp = eye.scale;
    camera.size(size);
    if (from) { Object.assign(eye, from); show(); rest(); }
  };
  // A frame may get its size after the page has run, and has none behind another tab; until it is moved, the picture
  // starts anew in it.
  new ResizeObserver(() => { if (!frame.clientWidth) return; if (home === null) draw(); else camera.onsize(); }).observe(frame);

  const share = (event) => { const at = frame.getBoundingClientRect(); return [(event.clientX - at.left) / at.width, (event.clientY - at.top) / at.height]; };
  /** Move by so many pixels, or zoom at a share of the frame, as a hand did here or beside. */
  camera.follow = ({ move, zoom, at }) => {
    if (move) camera.move(...move);
    else camera.zoom(zoom, eye.x + at[0] * frame.clientWidth / eye.scale, eye.y + at[1] * frame.clientHeight / eye.scale);
  };
  const byHand = (what) => { camera.follow(what); camera.onhand(what); };
  const fingers = new Map();
  let pinch = 0;
  const span = () => { const [a, b] = [...fingers.values()]; return Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY); };
  frame.addEventListener("wheel", (event) => {
    event.preventDefault();
    byHand({ zoom: Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), at: share(event) });
  }, { passive: false });
  frame.addEventListener("pointerdown", (event) => {
    fingers.set(event.pointerId, event);
    camera.moved = 0;
    pinch = fingers.size === 2 ? span() : 0;
  });
  addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    fingers.set(event.pointerId, event);
    if (fingers.size === 2) {
      const now = span();
      if (pinch) byHand({ zoom: now / pinch, at: share(event) });
      pinch = now;
      camera.moved = 9;
      return;
    }
    const dx = event.clientX - before.clientX, dy = event.clientY - before.clientY;
    camera.moved += Math.abs(dx) + Math.abs(dy);
    byHand({ move: [-dx, -dy] });
  });
  for (const name of ["pointerup", "pointercancel"]) addEventListener(name, (event) => fingers.delete(event.pointerId));
  frame.addEventListener("scroll", () => frame.scrollTo(0, 0));
  return camera;
};
