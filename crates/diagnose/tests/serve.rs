//! Room for a model's cache against what vLLM logged on real cards. Sizes in logs are rounded to hundredths of a GiB, so what is
//! logged of them has to lie between what both ends of the rounding give.

use oomph_diagnose::results::serve::ServeResult;
use oomph_diagnose::serve::model::{CacheKind, CacheLayers, KnownBy, Precision, ServedModel};
use oomph_diagnose::serve::room::{Room, Setup, capacity};
use oomph_trace::Bytes;
use oomph_trace::cards::card_named;

fn layers(count: u64, kind: CacheKind, heads: u64, per_token: u64) -> CacheLayers {
    CacheLayers { count, kind, heads, per_token, fixed: 0, window: None }
}

fn model(parameters: u64, tables: u64, layers: Vec<CacheLayers>) -> ServedModel {
    ServedModel {
        name: "model".to_owned(),
        known_by: KnownBy::Built,
        parameters,
        linear: parameters - tables,
        rows: 0,
        precision: Precision::Bf16,
        layers,
        hidden: 4096,
        inner: 3 * 14336,
        vocabulary: 128_256,
        longest: Some(131_072),
        remarks: Vec::new(),
    }
}

/// Llama-3.1-8B: 32 layers, 8 heads of 128 for keys and values.
fn llama_8b() -> ServedModel {
    model(8_030_261_248, 2 * 128_256 * 4096, vec![layers(32, CacheKind::Full, 8, 2 * 8 * 128)])
}

fn setup(context: u64) -> Setup {
    Setup {
        weights: Precision::Bf16,
        cache: Precision::Bf16,
        context,
        sequences: None,
        cards: 1,
        utilization: 0.9,
        context_bytes: Bytes::mib(768),
        nccl_bytes: Bytes::mib(558),
    }
}

fn gib(size: f64) -> Bytes {
    Bytes((size * f64::from(1 << 30)) as u64)
}

#[track_caller]
fn check_log(model: &ServedModel, available: f64, context: u64, tokens: u64, concurrency: &str) {
    let of = |size: f64| capacity(model, &setup(context), 2048, gib(size)).0;
    let (least, most) = (of(available - 0.005), of(available + 0.005));
    assert!((least..=most).contains(&tokens), "{tokens} is not in {least}..={most}");
    // The size that gives these tokens gives what was logged beside them.
    let exact = Bytes(tokens * model.token(Precision::Bf16, 1).0);
    let found = capacity(model, &setup(context), 2048, exact);
    assert_eq!((found.0, format!("{:.2}x", found.1)), (tokens, concurrency.to_owned()));
}

#[test]
fn tokens_and_concurrency_are_those_that_vllm_logs() {
    // Llama-3.1-8B-Instruct on an RTX 3090, vllm issue 10517: 1952 and 1478 blocks.
    check_log(&llama_8b(), 3.81, 20_000, 31_232, "1.56x");
    check_log(&llama_8b(), 2.89, 29_000, 23_648, "0.82x");
    // DeepSeek-V2-Lite on L4s, vllm pull request 20665: 14 of its 27 layers on the first of two stages, 512 + 64 numbers a token.
    let latent = model(1 << 33, 1 << 28, vec![layers(14, CacheKind::Latent, 1, 576)]);
    check_log(&latent, 12.13, 1024, 807_792, "788.86x");
    // A cache of 1381 blocks, Llama-3.1-70B, vllm pull request 12569.
    let large = model(1 << 36, 1 << 31, vec![layers(80, CacheKind::Full, 8, 2 * 8 * 128)]);
    check_log(&large, 1381.0 * 16.0 * 327_680.0 / f64::from(1 << 30), 2048, 1381 * 16, "10.79x");
}

#[test]
fn a_sequence_of_latents_takes_what_vllm_says_it_needs() {
    // DeepSeek-V2-Lite with 32768 tokens, vllm issue 15871: 0.95 GiB.
    let model = model(1 << 33, 1 << 28, vec![layers(27, CacheKind::Latent, 1, 576)]);
    assert_eq!(model.sequence(Precision::Bf16, 1, 32_768, 2048).to_string(), "972.00 MiB");
    // Every card has all of it.
    assert_eq!(model.token(Precision::Bf16, 2), model.token(Precision::Bf16, 1));
}

#[test]
fn weights_are_those_that_vllm_logs() {
    let check = |found: Bytes, logged: f64| {
        let off = found.0 as f64 / gib(logged).0 as f64 - 1.0;
        assert!(off.abs() < 0.003, "{found} is {off:+.4} off {logged}");
    };
    // Llama-3.1-8B in bf16: 14.9888 (vllm issue 10517); tables of positions are in it, which are no parameters.
    check(llama_8b().weights(Precision::Bf16, 1), 14.9888);
    // Llama-3.1-70B in 8 bits: 67.7229 (vllm pull request 12569); 80 layers with 83,968 rows.
    let mut large = model(70_553_706_496, 2 * 128_256 * 8192, Vec::new());
    large.rows = 80 * 83_968;
    check(large.weights(Precision::Int8, 1), 67.7229);
}

#[test]
fn activations_are_those_that_vllm_measured() {
    // The same logs of issue 10517: the peak less the weights, for 20,000 and 29,000 tokens at once.
    for (tokens, measured) in [(20_000, 17.06 - 14.9888), (29_000, 17.98 - 14.9888)] {
        let found = llama_8b().activations(Precision::Bf16, 1, tokens, 256);
        let off = found.0 as f64 / gib(measured).0 as f64 - 1.0;
        assert!(off.abs() < 0.01, "{tokens}: {found} is {off:+.4} off {measured}");
    }
}

#[test]
fn a_window_is_kept_with_the_chunk_that_is_computed_and_a_state_whatever_the_length() {
    let sliding = CacheLayers { window: Some(128), ..layers(12, CacheKind::Sliding, 8, 1024) };
    let state = CacheLayers { fixed: 5000, ..layers(3, CacheKind::State, 1, 0) };
    let tokens = |context: u64| {
        let model = model(1 << 30, 1 << 20, vec![sliding.clone()]);
        model.sequence(Precision::Bf16, 1, context, 2048).0 / (12 * 1024 * 2)
    };
    assert_eq!([100, 2048, 4096, 131_072].map(tokens), [112, 2048, 2192, 2192]);
    let mixed = model(1 << 30, 1 << 20, vec![state, layers(1, CacheKind::Full, 2, 256)]);
    assert_eq!(mixed.sequence(Precision::Bf16, 1, 16, 2048), Bytes(2 * (3 * 5000 + 16 * 256)));
    assert!(!mixed.is_even());
}

#[test]
fn parts_add_up_to_the_card_and_heads_are_divided_as_far_as_they_go() {
    let card = card_named("L4").unwrap();
    let room = Room::of(&llama_8b(), &setup(4096), card);
    let all = room.weights + room.activations + room.graphs + room.beside + room.cache + room.kept_free;
    assert_eq!(all, card.total);
    let token = |cards| llama_8b().token(Precision::Bf16, cards).0;
    assert_eq!([1, 2, 8, 16].map(|cards| token(1) / token(cards)), [1, 2, 8, 8]);
}

#[test]
fn what_is_asked_for_fits_up_to_what_fits() {
    let of = |sequences| {
        let setup = Setup { sequences, ..setup(4096) };
        ServeResult::of(&llama_8b(), &setup, card_named("L4").unwrap())
    };
    let most = of(None).room.unwrap().sequences();
    let fits = |sequences| of(sequences).fits();
    assert_eq!([fits(None), fits(Some(most)), fits(Some(most + 1))], [Some(true), Some(true), Some(false)]);
    let unknown = ServeResult::of(&model(0, 0, Vec::new()), &setup(4096), card_named("L4").unwrap());
    assert_eq!((unknown.fits(), unknown.changes.len()), (None, 0));
}
