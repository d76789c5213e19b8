//! `oomph plan --serve` as text.

use oomph_diagnose::results::serve::ServeResult;
use oomph_diagnose::serve::model::{CacheKind, CacheLayers, KnownBy, Precision, ServedModel};
use oomph_diagnose::serve::room::Setup;
use oomph_report::text;
use oomph_report::text::Colour;
use oomph_trace::Bytes;
use oomph_trace::cards::card_named;

fn result(card: &str, sequences: Option<u64>, layers: Vec<CacheLayers>) -> ServeResult {
    let model = ServedModel {
        name: "Llama-3.1-8B".to_owned(),
        known_by: KnownBy::Built,
        parameters: 8_030_261_248,
        linear: 6_979_321_856,
        rows: 1_343_488,
        precision: Precision::Bf16,
        layers,
        hidden: 4096,
        inner: 3 * 14336,
        vocabulary: 128_256,
        longest: Some(8192),
        remarks: vec!["what is not known".to_owned()],
    };
    let setup = Setup {
        weights: Precision::Bf16,
        cache: Precision::Bf16,
        context: 4096,
        sequences,
        cards: 1,
        utilization: 0.9,
        context_bytes: Bytes::mib(768),
        nccl_bytes: Bytes::mib(558),
    };
    ServeResult::of(&model, &setup, card_named(card).expect("the card is known"))
}

fn full() -> Vec<CacheLayers> {
    vec![CacheLayers { count: 32, kind: CacheKind::Full, heads: 8, per_token: 2048, fixed: 0, window: None }]
}

/// One that fits, one that does not, and one of which nothing can be told.
pub(crate) fn results() -> Vec<ServeResult> {
    vec![result("L4", None, full()), result("T4", Some(4), full()), result("L4", None, Vec::new())]
}

#[test]
fn the_report_begins_with_the_answer_and_adds_up() {
    let shown = text::serve::render(&result("L4", None, full()), Colour::Off);
    let expected = "\
fits on the L4 (22.03 GiB): 6 sequences of 4,096 tokens
  Model    Llama-3.1-8B: 8.03 billion parameters, as transformers builds it;
           weights in bf16
  Cache    128.00 KiB a token in bf16: 32 layers of 8 heads

  Memory
      14.96 GiB  weights
       3.00 GiB  KV cache of 6 sequences
     313.12 MiB  activations of a prefill of 2,048 tokens
     512.00 MiB  CUDA graphs, an allowance
     768.00 MiB  CUDA context and libraries
     321.22 MiB  left for shorter ones
       2.20 GiB  not used, by --utilization 0.9
  =   22.03 GiB  NVIDIA L4

  By length
  context  cache each  sequences
    1,024  128.00 MiB         26
    2,048  256.00 MiB         13
    4,096  512.00 MiB          6  asked for
    8,192    1.00 GiB          3

  vLLM would log
    GPU KV cache size: 27,136 tokens
    Maximum concurrency for 4,096 tokens per request: 6.62x

  What would change it
  sequences  change                  do
         40  tensor parallel over 2  --tensor-parallel-size 2
         25  int4 weights            a checkpoint that is quantised to 4 bits
         19  int8 weights            a checkpoint that is quantised to 8 bits
         13  fp8 KV cache            --kv-cache-dtype fp8
         13  half the context        --max-model-len 2048

  Note     what is not known
  Note     vLLM measures activations, graphs and libraries when it starts; here
           they are estimates, and the cache may be some 0.5 GiB larger or
           smaller
";
    assert_eq!(shown, expected);
    assert!(shown.lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn the_first_line_is_the_answer() {
    let first = |result: &ServeResult| {
        text::serve::render(result, Colour::Off).lines().next().unwrap_or_default().to_owned()
    };
    let expected = [
        "fits on the L4 (22.03 GiB): 6 sequences of 4,096 tokens",
        "does not fit on the T4 (14.57 GiB): 3.40 GiB short without any cache",
        "cannot tell how many sequences fit on the L4 (22.03 GiB)",
    ];
    assert_eq!(results().iter().map(first).collect::<Vec<String>>(), expected);
    let asked = |sequences| first(&result("L4", Some(sequences), full()));
    assert_eq!(asked(2), "fits on the L4 (22.03 GiB): 2 sequences of 4,096 tokens; 6 would");
    assert_eq!(asked(7), "does not fit on the L4 (22.03 GiB): 7 sequences of 4,096 tokens; 6 would");
}

#[test]
fn several_cards_are_a_table() {
    let cards = [result("T4", None, full()), result("A100-40", None, full())];
    let shown = text::serve::cards(&cards, Colour::Off);
    let expected = "\
sequences of 4,096 tokens fit on 1 of 2 cards
  Model    Llama-3.1-8B: 8.03 billion parameters, as transformers builds it;
           weights in bf16
  Cache    128.00 KiB a token in bf16: 32 layers of 8 heads

              memory    weights      cache   tokens  sequences
  T4       14.57 GiB  14.96 GiB        0 B        0          0
  A100-40  39.50 GiB  14.96 GiB  19.04 GiB  155,936         38

  Note     what is not known
  Note     cards before the A100 have no bf16: serve it in fp16 there, which
           takes the same
  Note     vLLM measures activations, graphs and libraries when it starts; here
           they are estimates, and the cache may be some 0.5 GiB larger or
           smaller
";
    assert_eq!(shown, expected);
}
