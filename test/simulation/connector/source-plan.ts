/** The topics of a seed, which of them a binding reads, and how it selects them. */

import type { TopicSelection } from '@waybill/connector/internal'
import type { Draw } from '../draw.ts'
import type { BindingPlan } from './binding-plan.ts'
import type { RecordPlan } from './record-plan.ts'
import { secondTopic, sourceTopic } from './source-topic.ts'

/** Matches derived topics too, which must not be read as sources. */
const expression = /^(orders|sales)/

/** Discovery delay of a topic that is created late, in addition to the time the group takes to rebalance. */
const lookEveryMs = 1_000

/** Returns the topic selection of a binding. */
export function selectionOf({ topics, isExpression }: BindingPlan): TopicSelection {
  if (isExpression) return expression
  return topics.length === 1 ? sourceTopic : topics
}

/** The topics of a seed. */
export interface SourcePlan {
  readonly bindings: readonly BindingPlan[]
  readonly records: readonly RecordPlan[]
  readonly topics: readonly string[]
  /** A source that is created while processes run. */
  readonly lateTopic: { readonly topic: string; readonly atMs: number } | undefined
}

/** Inputs for drawing sources. */
export interface SourceFrame extends Pick<SourcePlan, 'bindings' | 'records'> {
  readonly chaosMs: number
  /** True where one source is the only subject of the seed. */
  readonly isAlone: boolean
}

/**
 * Draws a second topic at times, selected by name or by expression.
 *
 * @param draw - a separate stream, so that no other draw changes
 */
export function drawSources(draw: Draw, { bindings, records, chaosMs, isAlone }: SourceFrame): SourcePlan {
  if (isAlone || !draw.chance(0.12)) return { bindings, records, topics: [sourceTopic], lateTopic: undefined }
  const isExpression = draw.chance(0.5)
  const topics = [sourceTopic, secondTopic]
  // Without commits, a topic created later would stop its partitions, or have an unknown start.
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
