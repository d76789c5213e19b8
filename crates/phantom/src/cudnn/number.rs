//! Numbers of cudnn_graph.h: kinds of descriptors, types of attributes, and the attributes that are read or set.

use std::ffi::c_int;

pub(super) const MOVEMENT: c_int = 1;
pub(super) const ENGINE: c_int = 2;
pub(super) const ENGINE_CONFIGURATION: c_int = 3;
pub(super) const HEURISTIC: c_int = 4;
pub(super) const CHOICE: c_int = 7;
pub(super) const CONVOLUTION_FORWARD: c_int = 10;
pub(super) const CONVOLUTION_FILTER: c_int = 11;
pub(super) const CONVOLUTION_DATA: c_int = 12;
pub(super) const GRAPH: c_int = 15;
pub(super) const TENSOR: c_int = 17;
pub(super) const CARD: c_int = 38;

pub(super) const TYPE_DATA: c_int = 1;
pub(super) const TYPE_WIDE: c_int = 3;
pub(super) const TYPE_FLOAT: c_int = 4;
pub(super) const TYPE_DOUBLE: c_int = 5;
pub(super) const TYPE_CONVOLUTION_MODE: c_int = 7;
pub(super) const TYPE_HEURISTIC_MODE: c_int = 8;
pub(super) const TYPE_KNOB: c_int = 9;
pub(super) const TYPE_NOTE: c_int = 11;
pub(super) const TYPE_DESCRIPTOR: c_int = 15;
pub(super) const TYPE_CHARACTER: c_int = 24;

pub(super) const MOVEMENT_TYPE: c_int = 100;
pub(super) const MOVEMENT_MODE: c_int = 101;
/// The pads, strides and dilations of a movement: the pads before. Those behind, and how many dimensions there are.
pub(super) const MOVES: [c_int; 3] = [105, 103, 102];
pub(super) const PADS_BEHIND: c_int = 104;
pub(super) const MOVEMENT_RANK: c_int = 106;
pub(super) const HEURISTIC_MODE: c_int = 200;
pub(super) const HEURISTIC_GRAPH: c_int = 201;
pub(super) const HEURISTIC_RESULTS: c_int = 202;
pub(super) const HEURISTIC_CARD: c_int = 204;
pub(super) const CONFIGURATION_ENGINE: c_int = 300;
pub(super) const CONFIGURATION_CHOICES: c_int = 302;
pub(super) const CONFIGURATION_WORKSPACE: c_int = 303;
/// The phantom's own: by how much the workspace may be wrong.
pub(super) const CONFIGURATION_DOUBT: c_int = -303;
pub(super) const PLAN_CONFIGURATION: c_int = 401;
pub(super) const PLAN_WORKSPACE: c_int = 402;
pub(super) const CHOICE_KNOB: c_int = 600;
pub(super) const CHOICE_VALUE: c_int = 601;
pub(super) const GRAPH_OPERATIONS: c_int = 801;
pub(super) const GRAPH_ENGINES: c_int = 802;
pub(super) const TENSOR_ALIGNMENT: c_int = 900;
pub(super) const TENSOR_TYPE: c_int = 901;
pub(super) const TENSOR_DIMENSIONS: c_int = 902;
pub(super) const TENSOR_STRIDES: c_int = 903;
pub(super) const TENSOR_NAME: c_int = 906;
pub(super) const ENGINE_GRAPH: c_int = 1300;
pub(super) const ENGINE_INDEX: c_int = 1301;
pub(super) const ENGINE_NOTES: c_int = 1303;
pub(super) const CARD_JSON: c_int = 2702;

/// The attributes of a convolution's operation: movement, filter, input, output. The two factors stand before them.
pub(super) const FORWARD: [c_int; 4] = [702, 703, 704, 705];
pub(super) const DATA: [c_int; 4] = [708, 709, 710, 711];
pub(super) const FILTER: [c_int; 4] = [714, 715, 716, 717];

pub(super) const DATA_FLOAT: c_int = 0;
pub(super) const DATA_DOUBLE: c_int = 1;
pub(super) const CROSS_CORRELATION: c_int = 1;

/// Knobs of engines: the size of tiles, whether sums are split (0) or not, and how many tiles a cluster takes.
pub(super) const KNOB_TILE: c_int = 2;
pub(super) const KNOB_WORKSPACE: c_int = 25;
pub(super) const KNOB_CLUSTER: [c_int; 2] = [27, 28];
