//! What is found in recordings and in messages. All files are one program, so that it is linked once.

mod borrowed;
mod diff;
mod message_cures;
mod message_places;
mod message_robust;
mod message_signs;
mod message_variants;
mod messages;
mod numbers;
mod placements;
mod recorded;
mod rules;
mod serve;
mod tape;
mod verdict;
