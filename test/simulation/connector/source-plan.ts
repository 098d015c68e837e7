/** Which topics there are, which of them a binding reads, and how it says so. */

import type { TopicSelection } from '@waybill/connector/internal'
import type { Draw } from '../draw.ts'
import type { BindingPlan } from './binding-plan.ts'
import type { RecordPlan } from './record-plan.ts'
import { secondTopic, sourceTopic } from './source-topic.ts'

/** Also matches what is made of them, which is not to be read as if it were new. */
const expression = /^(orders|sales)/

/** How long a topic that is created late may stay unseen, beside what the group takes to let its members in. */
const lookEveryMs = 1_000

/** What a binding is told to read. */
export function selectionOf({ topics, isExpression }: BindingPlan): TopicSelection {
  if (isExpression) return expression
  return topics.length === 1 ? sourceTopic : topics
}

/** What a seed has of it. */
export interface SourcePlan {
  readonly bindings: readonly BindingPlan[]
  readonly records: readonly RecordPlan[]
  readonly topics: readonly string[]
  /** A source that is created while everybody runs already. */
  readonly lateTopic: { readonly topic: string; readonly atMs: number } | undefined
}

/** What sources are drawn for. */
export interface SourceFrame extends Pick<SourcePlan, 'bindings' | 'records'> {
  readonly chaosMs: number
  /** Where one source is all that there is to look at. */
  readonly isAlone: boolean
}

/** A second topic, at times, by name or by expression. @param draw - of its own, so that nothing else is drawn anew */
export function drawSources(draw: Draw, { bindings, records, chaosMs, isAlone }: SourceFrame): SourcePlan {
  if (isAlone || !draw.chance(0.12)) return { bindings, records, topics: [sourceTopic], lateTopic: undefined }
  const isExpression = draw.chance(0.5)
  const topics = [sourceTopic, secondTopic]
  // Where nothing is committed a topic that comes later would stop its partitions, or have no beginning that is known.
  const mayComeLate = isExpression && bindings.every(({ options }) => options.startFrom === 'EARLIEST')
  const isLate = mayComeLate && draw.chance(0.7)
  return {
    bindings: bindings.map((binding) => ({
      ...binding,
      topics,
      isExpression,
      options: isExpression ? { ...binding.options, topicRefreshMs: lookEveryMs } : binding.options,
    })),
    records: records.map((record) => ({ ...record, topic: draw.pick(topics) })),
    topics,
    lateTopic: isLate ? { topic: secondTopic, atMs: draw.ms(100, chaosMs) } : undefined,
  }
}
