/**
 * Metadata as every broker sees it. A topic change is acknowledged before all brokers know it, and the next request may
 * go to any of them: a new topic would be missing there, and a deleted one still exist.
 */

import type { Cluster } from '../cluster/cluster.ts'
import { KafkaError } from '../cluster/kafka-error.ts'
import type { Nodes } from '../cluster/nodes.ts'
import { type Answers, mayReadAgain, type Rounds } from './rounds.ts'
import { isMissing, missingTopic, type TopicView, viewsIn } from './topic-view.ts'

/** Longest wait for one broker; a slower one is ignored. */
const patienceMs = 2_000

/** Returns true for errors that may resolve, including a missing topic. */
export function mayComeAbout(error: KafkaError): boolean {
  return mayReadAgain(error) || isMissing(error)
}

/**
 * Queries all brokers until those that answer agree on each topic. `judge` returns an error while a broker's view is
 * not acceptable.
 */
export function untilAllSee<T>(
  cluster: Cluster,
  nodes: Nodes,
  rounds: Rounds,
  topics: readonly string[],
  judge: (topic: string, view: TopicView | KafkaError) => T | KafkaError,
): Promise<Answers<string, T>> {
  return rounds.settle(topics, mayComeAbout, async (open) => {
    const brokers = await cluster.brokers(rounds.timeoutMs)
    const timeoutMs = Math.min(patienceMs, rounds.timeoutMs)
    const asked = await Promise.allSettled(
      brokers.map((node) => nodes.send(node, 'Metadata', { topics: open }, timeoutMs)),
    )
    const seen = asked.flatMap((answer) => (answer.status === 'fulfilled' ? [viewsIn(answer.value)] : []))
    return new Map(
      open.map((topic) => {
        const judged = seen.map((views) => judge(topic, views.get(topic) ?? missingTopic(topic)))
        return [topic, judged.find((one) => one instanceof KafkaError) ?? judged[0] ?? unanswered(topic)]
      }),
    )
  })
}

function unanswered(topic: string): KafkaError {
  return new KafkaError(`No broker described topic ${topic}.`, 'RETRIABLE')
}
