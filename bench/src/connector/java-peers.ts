/**
 * The Java peers of the connector, each on a filled topic in a process of its own. Call `prepareJava` of java-project.ts
 * first; README.md lists the settings.
 */

import { runJava } from '../java-project.ts'

/** A topic, and the number of its records that a peer handles from the beginning. */
export interface PeerTask {
  readonly topic: string
  readonly records: number
  /** A peer that has not handled all records by then fails. 300 by default. */
  readonly waitSeconds?: number
}

/** The cost of a peer's run. */
export interface PeerResult {
  readonly records: number
  /** From the first call of the handler until the last record is done. */
  readonly seconds: number
  /** User and system time of the whole process from before it joins its group, without the start of the runtime. */
  readonly cpuSeconds: number
}

/** Runs Spring Kafka, AckMode MANUAL, with a no-op handler within a Resilience4j retry and circuit breaker. */
export function runSpringResilience4j(task: PeerTask): Promise<PeerResult> {
  return runPeer('spring-r4j', task)
}

/** Runs Spring Kafka, AckMode MANUAL_IMMEDIATE, with a no-op handler; each record's commit is awaited. */
export function runSpringManualImmediate(task: PeerTask): Promise<PeerResult> {
  return runPeer('spring-manual-immediate', task)
}

/** The load of the parallel consumer. */
export interface ParallelLoad {
  /** Concurrent handlers. 256 by default. */
  readonly concurrency?: number
  /** The sleep of each handler. 5 by default. */
  readonly handlerMs?: number
}

/** Runs Confluent's parallel consumer, ordered by key. */
export function runParallelConsumer(task: PeerTask, load: ParallelLoad = {}): Promise<PeerResult> {
  const { concurrency = 256, handlerMs = 5 } = load
  return runPeer('parallel-consumer', task, { concurrency, handlerMs })
}

/**
 * Runs Spring Kafka's retry topics, tuned: every record fails in its topic and after 200, 400 and 800 ms, then is dead.
 * Creates {@link springTierTopics}.
 */
export function runSpringTiers(task: PeerTask, partitions: number): Promise<PeerResult> {
  return runPeer('spring-tiers', task, { partitions })
}

/** Runs Spring Kafka's dead letters, tuned: every record fails and goes straight to {@link springDeadLetterTopic}. */
export function runSpringDeadLetter(task: PeerTask): Promise<PeerResult> {
  return runPeer('spring-dlt', task)
}

/** Returns the topic that {@link runSpringDeadLetter} writes to. */
export function springDeadLetterTopic(topic: string): string {
  return `${topic}-dlt`
}

/** Returns the topics that {@link runSpringTiers} creates. */
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
