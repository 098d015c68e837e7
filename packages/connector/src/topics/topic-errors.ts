/** Topics that a binding needs and does not have. */

import { WaybillError } from '@waybill/core'
import { renderPlan, type TopologyPlan } from '@waybill/kafka'
import { type PlanStep } from '@waybill/kafka/internal'

/** The topics that bindings move records to are missing, or would lose records. */
export class DerivedTopicsError extends WaybillError {
  static override readonly code = 'WAYBILL_DERIVED_TOPICS_INVALID'
  readonly steps: readonly PlanStep[]

  constructor(plan: TopologyPlan, mode: 'CREATE' | 'VERIFY') {
    const isOnlyMissing = plan.steps.every(({ kind }) => kind === 'CREATE')
    super(`The derived topics are not as the bindings need them (derivedTopics: ${mode}). ${renderPlan(plan)}\n `, {
      impact: 'No record was read and no topic was changed.',
      hint: isOnlyMissing
        ? "Create them, or use derivedTopics: 'CREATE'."
        : 'Mend these topics by hand, or name others: what exists is never altered.',
    })
    this.steps = plan.steps
  }
}

/** A binding and the topic it would read. */
export interface MissingSource {
  readonly binding: string
  readonly topic: string
}

/** A binding reads a topic that does not exist. */
export class SourceTopicMissingError extends WaybillError {
  static override readonly code = 'WAYBILL_SOURCE_TOPIC_MISSING'
  readonly missing: readonly MissingSource[]

  constructor(missing: readonly MissingSource[]) {
    const list = missing.map(({ binding, topic }) => `${topic} (binding ${binding})`).join(', ')
    super(`${missing.length === 1 ? 'This topic does' : 'These topics do'} not exist: ${list}.`, {
      impact: 'No record was read and no topic was created.',
      hint: 'Check the names, or declare the topics: a source is never created by its reader, who cannot know its partitions.',
    })
    this.missing = missing
  }
}
