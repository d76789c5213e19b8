//! Libraries that a phantom does not answer for. Each function says so by name, and fails as its library fails where
//! something is not supported, so that PyTorch raises an error of its own. What only speaks of versions and errors is
//! left to the real libraries.

mod cufft;
mod cusolver;
mod cusparse;
mod cusparselt;
mod nccl;
