// What an ONNX operator looks like in the graph: its category (colour of the header) and the names of its formal inputs.

export type Category =
  | "layer"
  | "activation"
  | "pool"
  | "normalization"
  | "shape"
  | "tensor"
  | "quantization"
  | "attention"
  | "other";

/** Header colours, the same in both themes: white text reads on each of them. */
export const CATEGORY_COLOUR: Record<Category, string> = {
  layer: "rgb(51,85,136)",
  activation: "rgb(112,41,33)",
  pool: "rgb(51,85,51)",
  normalization: "rgb(51,85,68)",
  shape: "rgb(108,79,71)",
  tensor: "rgb(89,66,59)",
  quantization: "rgb(80,40,0)",
  attention: "rgb(120,60,0)",
  other: "rgb(64,66,70)",
};

/** The header of a folded group. */
export const GROUP_COLOUR = "rgb(78,60,112)";

const MEMBERS: Partial<Record<Category, string>> = {
  layer: "Conv ConvTranspose ConvInteger DeformConv FusedConv NhwcConv Gemm FusedGemm MatMul FusedMatMul MatMulInteger LSTM GRU RNN DynamicQuantizeLSTM Einsum BiasAdd QLinearConv QLinearMatMul",
  activation:
    "Relu LeakyRelu PRelu Elu Selu Celu ThresholdedRelu Sigmoid HardSigmoid HardSwish Tanh Softplus Softsign Softmax LogSoftmax Clip Gelu FastGelu BiasGelu QuickGelu Mish Erf Swish",
  pool: "MaxPool AveragePool LpPool GlobalMaxPool GlobalAveragePool GlobalLpPool MaxRoiPool RoiAlign",
  normalization:
    "BatchNormalization InstanceNormalization LayerNormalization GroupNormalization LpNormalization MeanVarianceNormalization LRN RMSNormalization SkipLayerNormalization SimplifiedLayerNormalization EmbedLayerNormalization Dropout",
  shape: "Reshape Flatten Squeeze Unsqueeze Transpose Expand DepthToSpace SpaceToDepth Shape Size",
  tensor: "Concat Split Slice Gather GatherElements GatherND Scatter ScatterElements ScatterND Pad Tile Cast CastLike Resize Upsample Where OneHot",
  quantization: "QuantizeLinear DequantizeLinear DynamicQuantizeLinear",
  attention: "Attention MultiHeadAttention GroupQueryAttention RotaryEmbedding",
};

const CATEGORY = new Map<string, Category>(
  Object.entries(MEMBERS).flatMap(([category, ops]) => ops.split(" ").map((op): [string, Category] => [op, category as Category])),
);

/** The category of an operator; its domain (`com.microsoft.FusedConv`) does not matter. */
export function categoryOf(op: string): Category {
  return CATEGORY.get(op.slice(op.lastIndexOf(".") + 1)) ?? "other";
}

const FORMAL: Record<string, string[]> = {
  Conv: ["X", "W", "B"],
  FusedConv: ["X", "W", "B", "Z"],
  ConvTranspose: ["X", "W", "B"],
  ConvInteger: ["x", "w", "x_zero_point", "w_zero_point"],
  Gemm: ["A", "B", "C"],
  MatMul: ["A", "B"],
  MatMulInteger: ["A", "B", "a_zero_point", "b_zero_point"],
  BatchNormalization: ["X", "scale", "B", "mean", "var"],
  InstanceNormalization: ["input", "scale", "B"],
  LayerNormalization: ["X", "scale", "B"],
  LSTM: ["X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P"],
  GRU: ["X", "W", "R", "B", "sequence_lens", "initial_h"],
  RNN: ["X", "W", "R", "B", "sequence_lens", "initial_h"],
  Gather: ["data", "indices"],
  Reshape: ["data", "shape"],
  Expand: ["input", "shape"],
  Slice: ["data", "starts", "ends", "axes", "steps"],
  Squeeze: ["data", "axes"],
  Unsqueeze: ["data", "axes"],
  Split: ["input", "split"],
  Pad: ["data", "pads", "value", "axes"],
  Clip: ["X", "min", "max"],
  Resize: ["X", "roi", "scales", "sizes"],
  Where: ["condition", "X", "Y"],
  PRelu: ["X", "slope"],
  ReduceMean: ["data", "axes"],
  ReduceSum: ["data", "axes"],
  QuantizeLinear: ["x", "y_scale", "y_zero_point"],
  DequantizeLinear: ["x", "x_scale", "x_zero_point"],
  TopK: ["X", "K"],
  If: ["cond"],
  Loop: ["M", "cond"],
};
const BINARY = ["A", "B"];
const BINARY_OPS = new Set(["Add", "Sub", "Mul", "Div", "Pow", "Greater", "Less", "Equal", "And", "Or", "Mod"]);

/** The formal name of input number `place`, as the operator's definition has it; the tensor's own short name where it is not known. */
export function formalInput(op: string, place: number, tensor: string): string {
  const formal = FORMAL[op] ?? (BINARY_OPS.has(op) ? BINARY : undefined);
  return formal?.[place] ?? (place === 0 ? "X" : shortName(tensor));
}

/** The last part of a dotted or slashed name. */
export function shortName(name: string): string {
  const parts = name.split(/[./]/).filter((part) => part !== "");
  return parts[parts.length - 1] ?? name;
}
