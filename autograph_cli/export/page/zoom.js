// What is open at which size: a picture begins with what can be read in its frame, a closed box opens as one goes nearer,
// and the innermost close as one goes away. What was opened or closed last is undone by `u`.
const zoomOf = (page, arrange) => {
  const NEAR = 2, FAR = 0.75, PAUSE = 250, frame = get("picture");
  const { camera } = page;
  let until = 0;
  const remember = (view = page.view) => { view.past.push(view.state()); };
  /** Keep what is chosen chosen while boxes open and close. */
  const settle = () => { arrange(); page.choose(page.chosen); };
  const dive = async (element, x, y) => {
    const { view } = page, module = view.modules.frames.find(({ shut }) => shut === element);
    remember();
    if (module) module.closed = false; else await view.folds.toggle(element.id);
    settle();
    const at = (module ? module.plate : view.folds.drawn(element.id)).getBoundingClientRect(), around = frame.getBoundingClientRect(), { eye } = camera;
    const [wide, high] = [at.width / eye.scale, at.height / eye.scale], scale = Math.min(eye.scale, Math.max(1, Math.min(around.width / wide, around.height / high)));
    const place = (share, from, length, origin, side) => origin + (from - side) / eye.scale + share * length;
    camera.look(place(x, at.left, wide, eye.x, around.left), place(y, at.top, high, eye.y, around.top), scale);
  };
  const rise = async () => {
    const { view, camera: { eye } } = page, before = camera.full(), before_state = view.state();
    if (!(await view.closeInner())) return;
    view.past.push(before_state);
    const centre = [(eye.x + frame.clientWidth / eye.scale / 2) / before.w, (eye.y + frame.clientHeight / eye.scale / 2) / before.h];
    settle();
    const { w, h } = camera.full();
    camera.look(centre[0] * w, centre[1] * h, 1);
  };
  camera.onzoom = (factor, x, y) => {
    if (!page.view || Date.now() < until) return;
    const { eye } = camera, around = frame.getBoundingClientRect();
    if (factor > 1 && eye.scale >= NEAR) {
      const at = [around.left + (x - eye.x) * eye.scale, around.top + (y - eye.y) * eye.scale], hit = document.elementFromPoint(...at), element = hit && hit.closest(".shut, .fold");
      if (!element) return;
      until = Date.now() + PAUSE;
      const box = element.getBoundingClientRect();
      dive(element, (at[0] - box.left) / box.width, (at[1] - box.top) / box.height);
    } else if (factor < 1 && eye.scale < FAR) {
      until = Date.now() + PAUSE;
      rise();
    }
  };
  const zoom = {
    remember,
    settle,
    /** Close what does not fit into the frame at a size at which it can be read. */
    fit: (view) => {
      if (!frame.clientWidth) return;
      view.fitted = `${frame.clientWidth} ${frame.clientHeight}`;
      view.modules.fit(frame.clientWidth, frame.clientHeight);
    },
    /** The same in a frame of another size, until something was opened or closed by hand. */
    refit: (view) => {
      if (view.past.length || view.fitted === `${frame.clientWidth} ${frame.clientHeight}`) return;
      zoom.fit(view);
      arrange();
    },
    undo: async () => {
      const state = page.view.past.pop();
      if (!state) return say("Nothing was opened or closed");
      await page.view.restore(state);
      settle();
    },
  };
  return zoom;
};
