// Model graphs for the page's tests, made by code: shapes and names as real models have them, at any depth.

import type { FormalInputs } from "../src/data/model/formal_inputs";
import type { ConstantJson, GraphJson, NodeJson, TensorInfo } from "../src/data/protocol";

/** The names of the inputs of these graphs' operators. */
export const FORMAL: FormalInputs = {
  Conv: { names: ["X", "W", "B"], rest: null },
  Concat: { names: [], rest: "inputs" },
  MatMul: { names: ["A", "B"], rest: null },
};

class GraphMaker {
  readonly nodes: NodeJson[] = [];
  readonly inputs: TensorInfo[] = [];
  readonly constants: Record<string, ConstantJson> = {};

  input(name: string, shape: number[]): string {
    this.inputs.push({ name, shape, dtype: "float32" });
    return name;
  }

  weight(name: string, shape: number[]): string {
    this.constants[name] = { shape, dtype: "float32", value: null };
    return name;
  }

  node(op: string, inputs: string[], shape: number[], attributes: Record<string, unknown> = {}): string {
    const id = this.nodes.length;
    const output = `t${id}`;
    this.nodes.push({ id, name: `${op}_${id}`, op, kind: "A", inputs, outputs: [{ name: output, shape, dtype: "float32" }], attributes, absorbed: [], host: false });
    return output;
  }

  conv(from: string, outs: number, ins: number, size: number, kernel = 1, stride = 1): string {
    const id = this.nodes.length;
    const inputs = [from, this.weight(`w${id}`, [outs, ins, kernel, kernel]), this.weight(`b${id}`, [outs])];
    return this.node("Conv", inputs, [1, outs, size, size], { kernel_shape: [kernel, kernel], strides: [stride, stride], group: 1 });
  }

  done(...outputs: string[]): GraphJson {
    return { nodes: this.nodes, inputs: this.inputs, outputs, constants: this.constants };
  }
}

/** Input, Conv, Relu, MaxPool, output. */
export function chain(): GraphJson {
  const g = new GraphMaker();
  const conv = g.conv(g.input("data", [1, 3, 32, 32]), 8, 3, 32, 3);
  return g.done(g.node("MaxPool", [g.node("Relu", [conv], [1, 8, 32, 32])], [1, 8, 16, 16], { strides: [2, 2] }));
}

/** Four branches that meet in a Concat, as in an inception module. */
export function inception(modules = 1): GraphJson {
  const g = new GraphMaker();
  let at = g.input("data", [1, 192, 28, 28]);
  for (let m = 0; m < modules; m++) {
    const relu = (from: string, outs: number): string => g.node("Relu", [from], [1, outs, 28, 28]);
    const one = relu(g.conv(at, 64, 192, 28), 64);
    const three = relu(g.conv(relu(g.conv(at, 96, 192, 28), 96), 128, 96, 28, 3), 128);
    const five = relu(g.conv(relu(g.conv(at, 16, 192, 28), 16), 32, 16, 28, 5), 32);
    const pool = relu(g.conv(g.node("MaxPool", [at], [1, 192, 28, 28]), 32, 192, 28), 32);
    at = g.node("Concat", [one, three, five, pool], [1, 256, 28, 28], { axis: 1 });
  }
  return g.done(at);
}

/** A residual network of bottleneck blocks. */
export function residual(blocks = 16): GraphJson {
  const g = new GraphMaker();
  let at = g.node("Relu", [g.conv(g.input("data", [1, 3, 224, 224]), 64, 3, 112, 7, 2)], [1, 64, 112, 112]);
  for (let b = 0; b < blocks; b++) {
    const first = g.node("Relu", [g.conv(at, 64, 256, 56)], [1, 64, 56, 56]);
    const second = g.node("Relu", [g.conv(first, 64, 64, 56, 3)], [1, 64, 56, 56]);
    const sum = g.node("Add", [g.conv(second, 256, 64, 56), b === 0 ? g.conv(at, 256, 64, 56) : at], [1, 256, 56, 56]);
    at = g.node("Relu", [sum], [1, 256, 56, 56]);
  }
  return g.done(at);
}

/** A transformer of `layers` layers of 22 nodes, with one mask that every layer reads. */
export function transformer(layers = 12): GraphJson {
  const g = new GraphMaker();
  const mask = g.node("Mul", [g.node("Sub", [g.input("mask", [1, 128])], [1, 128])], [1, 1, 1, 128]);
  let at = g.input("embeddings", [1, 128, 768]);
  const wide = [1, 128, 768];
  const dense = (from: string, ins: number, outs: number): string =>
    g.node("MatMul", [from, g.weight(`w${g.nodes.length}`, [ins, outs])], [1, 128, outs]);
  const heads = (from: string): string => g.node("Transpose", [g.node("Reshape", [from], [1, 128, 12, 64])], [1, 12, 128, 64]);
  for (let layer = 0; layer < layers; layer++) {
    const norm = g.node("LayerNormalization", [at], wide);
    const [q, k, v] = [heads(dense(norm, 768, 768)), heads(dense(norm, 768, 768)), heads(dense(norm, 768, 768))];
    const scores = g.node("Add", [g.node("MatMul", [q, k], [1, 12, 128, 128]), mask], [1, 12, 128, 128]);
    const mixed = g.node("MatMul", [g.node("Softmax", [scores], [1, 12, 128, 128]), v], [1, 12, 128, 64]);
    at = g.node("Add", [dense(g.node("Reshape", [mixed], wide), 768, 768), at], wide);
    const hidden = g.node("Gelu", [dense(g.node("LayerNormalization", [at], wide), 768, 3072)], [1, 128, 3072]);
    at = g.node("Add", [dense(hidden, 3072, 768), at], wide);
  }
  return g.done(at);
}
