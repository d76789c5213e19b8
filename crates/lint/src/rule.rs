//! The rules, by number. Their pages are docs/reference/lint.md.

/// All pages.
const PAGES: &str = include_str!("../../../docs/reference/lint.md");

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each has its words in the table")]
pub enum Rule {
    GraphKept,
    Evaluation,
    OutputsOnGpu,
    Load,
    Retry,
    RetainGraph,
    Hooks,
    LogitsInFloat,
    RecurrentState,
    EmptyCache,
    ListsInWorkers,
    DataOnGpu,
    KerasModels,
    Pinned,
    ZeroedGradients,
    ModelsKept,
    Cache,
    ErrorsKept,
    NotScaled,
    Copies,
    Cycle,
    Pairs,
    Attention,
    OneHot,
    Double,
    SecondModel,
    CollectorOff,
    Metric,
    LossesFirst,
}

impl Rule {
    /// All of them, in the order of their numbers.
    pub const ALL: [Rule; 29] = [
        Rule::GraphKept,
        Rule::Evaluation,
        Rule::OutputsOnGpu,
        Rule::Load,
        Rule::Retry,
        Rule::RetainGraph,
        Rule::Hooks,
        Rule::LogitsInFloat,
        Rule::RecurrentState,
        Rule::EmptyCache,
        Rule::ListsInWorkers,
        Rule::DataOnGpu,
        Rule::KerasModels,
        Rule::Pinned,
        Rule::ZeroedGradients,
        Rule::ModelsKept,
        Rule::Cache,
        Rule::ErrorsKept,
        Rule::NotScaled,
        Rule::Copies,
        Rule::Cycle,
        Rule::Pairs,
        Rule::Attention,
        Rule::OneHot,
        Rule::Double,
        Rule::SecondModel,
        Rule::CollectorOff,
        Rule::Metric,
        Rule::LossesFirst,
    ];

    /// Its number: `OOL001`.
    pub fn id(self) -> String {
        format!("OOL{:03}", self as usize + 1)
    }

    /// Its name, in a word, and what it is about, in a sentence.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Rule::GraphKept => ("graph-kept", "A tensor is kept with the graph that made it."),
            Rule::Evaluation => ("evaluation-with-gradients", "A model is evaluated with gradients on."),
            Rule::OutputsOnGpu => ("outputs-on-gpu", "Outputs are gathered on the GPU."),
            Rule::Load => ("load-beside-a-model", "A checkpoint is loaded onto the GPU beside the model."),
            Rule::Retry => ("retry-in-except", "A second try stands inside `except`."),
            Rule::RetainGraph => ("retain-graph", "`retain_graph=True` on the last backward pass."),
            Rule::Hooks => ("hooks", "Hooks are registered again and again, or keep what they see."),
            Rule::LogitsInFloat => ("logits-in-float", "All logits are made float32 at once."),
            Rule::RecurrentState => {
                ("state-not-detached", "A recurrent state goes from step to step with its graph.")
            }
            Rule::EmptyCache => ("empty-cache-in-a-loop", "`empty_cache()` is called in every round."),
            Rule::ListsInWorkers => {
                ("lists-in-workers", "A data set keeps a large Python list, and has workers.")
            }
            Rule::DataOnGpu => ("data-set-on-gpu", "The whole data set is on the GPU."),
            Rule::KerasModels => ("keras-models-in-a-loop", "Keras models are built in a loop."),
            Rule::Pinned => ("pinned-over-a-power-of-two", "Pinned memory just over a power of two."),
            Rule::ZeroedGradients => {
                ("zeroed-gradients", "Gradients are filled with zeros instead of let go.")
            }
            Rule::ModelsKept => ("models-kept", "Models, optimizers or copies of weights are kept."),
            Rule::Cache => ("cache-without-a-limit", "A cache without a limit around tensors."),
            Rule::ErrorsKept => ("errors-kept", "Exceptions are kept with their tracebacks."),
            Rule::NotScaled => {
                ("accumulation-not-scaled", "Gradients of several batches are added up and not divided.")
            }
            Rule::Copies => ("copy-of-a-copy", "A copy of a copy."),
            Rule::Cycle => ("cycle-keeps-batches", "`itertools.cycle` around a loader."),
            Rule::Pairs => ("everything-with-everything", "Everything with everything, at once."),
            Rule::Attention => ("attention-by-hand", "Attention is written out."),
            Rule::OneHot => ("one-hot-product", "A product with one-hot rows."),
            Rule::Double => ("float64-by-accident", "Numbers of 64 bits that nobody asked for."),
            Rule::SecondModel => {
                ("second-model-with-gradients", "A teacher or reference model is asked with gradients on.")
            }
            Rule::CollectorOff => ("collector-off", "The garbage collector is off."),
            Rule::Metric => ("metric-keeps-everything", "A metric keeps every prediction."),
            Rule::LossesFirst => {
                ("losses-before-backward", "The losses of several batches wait for one backward pass.")
            }
        }
    }

    /// The rule with this number, in capitals or not.
    pub fn numbered(id: &str) -> Option<Rule> {
        Rule::ALL.into_iter().find(|rule| rule.id().eq_ignore_ascii_case(id))
    }

    /// Its page, in Markdown.
    pub fn page(self) -> &'static str {
        let start = PAGES.find(&format!("## {}", self.id())).unwrap_or_default();
        let page = &PAGES[start..];
        page[1..].find("\n## ").map_or(page, |end| &page[..end + 1]).trim_end()
    }
}
