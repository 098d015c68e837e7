/**
 * What every broker sees. A change of topics is acknowledged before all brokers have heard of it, and the next request may
 * go to any of them: a topic that was just created would then be missing, and a deleted one still be there.
 */

import type { Cluster } from '../cluster/cluster.ts'
import { KafkaError } from '../cluster/kafka-error.ts'
import type { Nodes } from '../cluster/nodes.ts'
import { type Answers, mayReadAgain, type Rounds } from './rounds.ts'
import { isMissing, missingTopic, type TopicView, viewsIn } from './topic-view.ts'

/** A broker that takes longer is not waited for: whoever asks it later will have to be as patient. */
const patienceMs = 2_000

/** What is not yet so may come about, a topic that is missing included. */
export function mayComeAbout(error: KafkaError): boolean {
  return mayReadAgain(error) || isMissing(error)
}

/** Asks all brokers until those that answer agree, topic by topic. `judge` answers an error while one is not content. */
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
        return [topic, judged.find((one) => one instanceof KafkaError) ?? judged[0] ?? nobodyAnswers(topic)]
      }),
    )
  })
}

function nobodyAnswers(topic: string): KafkaError {
  return new KafkaError(`No broker says anything of ${topic}.`, 'RETRIABLE')
}
