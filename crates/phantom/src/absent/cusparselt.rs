//! cuSPARSELt.

use crate::library::refuse_library;

refuse_library!(
    "cuSPARSELt",
    10,
    [
        cusparseLtDenseDescriptorInit,
        cusparseLtInit,
        cusparseLtMatDescriptorDestroy,
        cusparseLtMatmul,
        cusparseLtMatmulAlgGetAttribute,
        cusparseLtMatmulAlgSelectionInit,
        cusparseLtMatmulAlgSetAttribute,
        cusparseLtMatmulDescSetAttribute,
        cusparseLtMatmulDescriptorInit,
        cusparseLtMatmulGetWorkspace,
        cusparseLtMatmulPlanDestroy,
        cusparseLtMatmulPlanInit,
        cusparseLtMatmulSearch,
        cusparseLtSpMMACompress2,
        cusparseLtSpMMACompressedSize2,
        cusparseLtStructuredDescriptorInit,
    ]
);
