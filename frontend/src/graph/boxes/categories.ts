// The categories of ONNX operators, and the colours of their headers in the graph.

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

/** Header colours, the same in both themes; white text can be read on each of them. */
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

/** The header colour of a folded group. */
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
