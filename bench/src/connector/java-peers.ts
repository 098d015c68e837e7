/**
 * What a Java team would run instead of our connector, each on a filled topic in a process of its own. `prepareJava` of
 * java-project.ts has to have succeeded before; settings are in README.md.
 */

import { runJava } from '../java-project.ts'

/** A topic, and how many of its records a peer has to handle from the beginning. */
export interface PeerTask {
  readonly topic: string
  readonly records: number
  /** A peer that has not handled them all by then fails. 300 if not given. */
  readonly waitSeconds?: number
}

/** What a peer took. */
export interface PeerResult {
  readonly records: number
  /** From the first call of the handler until the last record needs nothing more. */
  readonly seconds: number
  /** User and system time of the whole process from before it joins its group on; starting the runtime is left out. */
  readonly cpuSeconds: number
}

/** Spring Kafka, AckMode MANUAL, a handler that does nothing within a Resilience4j retry and circuit breaker. */
export function runSpringResilience4j(task: PeerTask): Promise<PeerResult> {
  return runPeer('spring-r4j', task)
}

/** Spring Kafka, AckMode MANUAL_IMMEDIATE: a handler that does nothing, and each record's commit is waited for. */
export function runSpringManualImmediate(task: PeerTask): Promise<PeerResult> {
  return runPeer('spring-manual-immediate', task)
}

/** How the parallel consumer is loaded. */
export interface ParallelLoad {
  /** Handlers at a time. 256 if not given. */
  readonly concurrency?: number
  /** How long each sleeps. 5 if not given. */
  readonly handlerMs?: number
}

/** Confluent's parallel consumer in the order of keys. */
export function runParallelConsumer(task: PeerTask, load: ParallelLoad = {}): Promise<PeerResult> {
  const { concurrency = 256, handlerMs = 5 } = load
  return runPeer('parallel-consumer', task, { concurrency, handlerMs })
}

/**
 * Spring Kafka's retry topics, tuned: every record fails in its topic and after 200, 400 and 800 ms, then it is dead.
 * Creates {@link springTierTopics}.
 */
export function runSpringTiers(task: PeerTask, partitions: number): Promise<PeerResult> {
  return runPeer('spring-tiers', task, { partitions })
}

/** Spring Kafka's dead letters, tuned: every record fails and goes straight to {@link springDeadLetterTopic}. */
export function runSpringDeadLetter(task: PeerTask): Promise<PeerResult> {
  return runPeer('spring-dlt', task)
}

/** Where {@link runSpringDeadLetter} writes: for whoever counts its records, or deletes it. */
export function springDeadLetterTopic(topic: string): string {
  return `${topic}-dlt`
}

/** What {@link runSpringTiers} creates. */
export function springTierTopics(topic: string): readonly string[] {
  return [`${topic}-retry-200`, `${topic}-retry-400`, `${topic}-retry-800`, springDeadLetterTopic(topic)]
}

async function runPeer(
  name: string,
  { topic, records, waitSeconds = 300 }: PeerTask,
  load: Readonly<Record<string, number>> = {},
): Promise<PeerResult> {
  const printed = await runJava(name, { topic, count: records, wait: waitSeconds, ...load })
  return JSON.parse(printed) as PeerResult
}
