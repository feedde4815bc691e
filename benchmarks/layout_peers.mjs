// Lays out the graphs on standard input with elkjs and dagre, and writes where arrows and boxes are.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const find = createRequire(join(process.cwd(), "graphs.js"));
const Elk = find("elkjs/lib/elk.bundled.js");
const dagre = find("@dagrejs/dagre");
const elk = new Elk();
const OPTIONS = {
  "elk.algorithm": "layered",
  "elk.direction": "DOWN",
  "elk.hierarchyHandling": "INCLUDE_CHILDREN",
  "elk.edgeRouting": "POLYLINE",
  "json.edgeCoords": "ROOT",
  "json.shapeCoords": "ROOT",
};

async function withElk({ boxes, frames, arrows }) {
  const root = { id: "root", layoutOptions: OPTIONS, children: [], edges: [] };
  const nodes = { "": root };
  for (const [id, parent] of frames) {
    nodes[id] = { id, children: [], layoutOptions: { "elk.padding": "[top=23,left=7,bottom=7,right=7]" } };
    nodes[parent].children.push(nodes[id]);
  }
  for (const [id, width, height, frame] of boxes) nodes[frame].children.push({ id, width, height });
  arrows.forEach(([tail, head, width], number) => {
    const labels = width ? [{ id: `l${number}`, text: "x", width, height: 9 }] : [];
    root.edges.push({ id: `e${number}`, sources: [tail], targets: [head], labels });
  });
  await elk.layout(root);
  const places = {};
  const walk = (node) => {
    if (!node.children) places[node.id] = [node.x + node.width / 2, node.y + node.height / 2];
    (node.children ?? []).forEach(walk);
  };
  walk(root);
  const points = (section) => [section.startPoint, ...(section.bendPoints ?? []), section.endPoint];
  const ways = root.edges.map((edge) => edge.sections.flatMap(points).map(({ x, y }) => [x, y]));
  return { places: boxes.map(([id]) => places[id]), ways };
}

function withDagre({ boxes, frames, arrows }) {
  const graph = new dagre.graphlib.Graph({ compound: true, multigraph: true });
  graph.setGraph({ rankdir: "TB" });
  for (const [id] of frames) graph.setNode(id, {});
  for (const [id, width, height] of boxes) graph.setNode(id, { width, height });
  for (const [id, parent] of frames) if (parent) graph.setParent(id, parent);
  for (const [id, , , frame] of boxes) if (frame) graph.setParent(id, frame);
  arrows.forEach(([tail, head, width], number) => {
    graph.setEdge(tail, head, width ? { width, height: 9, labelpos: "c" } : {}, `e${number}`);
  });
  dagre.layout(graph);
  const ways = arrows.map(([tail, head], number) => graph.edge(tail, head, `e${number}`).points.map(({ x, y }) => [x, y]));
  return { places: boxes.map(([id]) => [graph.node(id).x, graph.node(id).y]), ways };
}

async function tried(layout, graph) {
  try {
    return await layout(graph);
  } catch (error) {
    return { error: String(error) };
  }
}

for (const graph of JSON.parse(readFileSync(0, "utf8"))) {
  const answer = { ELK: await tried(withElk, graph), dagre: await tried(withDagre, graph) };
  process.stdout.write(JSON.stringify(answer) + "\n");
}
