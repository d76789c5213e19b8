//! What is found in recordings and in messages. One program for all of them: each of its own would be linked again.

mod borrowed;
mod message_cures;
mod message_places;
mod message_robust;
mod message_signs;
mod message_variants;
mod messages;
mod numbers;
mod recorded;
mod rules;
mod tape;
mod verdict;
