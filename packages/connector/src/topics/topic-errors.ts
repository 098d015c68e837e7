/** Errors of missing or unsuitable topics. */

import { WaybillError } from '@waybill/core'
import { renderPlan, type TopologyPlan } from '@waybill/kafka'
import { type PlanStep } from '@waybill/kafka/internal'

/** Derived topics are missing, or their configuration would lose records. */
export class DerivedTopicsError extends WaybillError {
  static override readonly code = 'WAYBILL_DERIVED_TOPICS_INVALID'
  readonly steps: readonly PlanStep[]

  constructor(plan: TopologyPlan, mode: 'CREATE' | 'VERIFY') {
    const isOnlyMissing = plan.steps.every(({ kind }) => kind === 'CREATE')
    super(`The derived topics do not match the bindings (derivedTopics: ${mode}). ${renderPlan(plan)}\n `, {
      impact: 'No record was read and no topic was changed.',
      hint: isOnlyMissing
        ? "Create them, or set derivedTopics: 'CREATE'."
        : 'Fix these topics manually, or choose other names. Existing topics are never altered.',
    })
    this.steps = plan.steps
  }
}

/** A binding and its missing source topic. */
export interface MissingSource {
  readonly binding: string
  readonly topic: string
}

/** A source topic of a binding does not exist. */
export class SourceTopicMissingError extends WaybillError {
  static override readonly code = 'WAYBILL_SOURCE_TOPIC_MISSING'
  readonly missing: readonly MissingSource[]

  constructor(missing: readonly MissingSource[]) {
    const list = missing.map(({ binding, topic }) => `${topic} (binding ${binding})`).join(', ')
    super(`${missing.length === 1 ? 'This source topic does' : 'These source topics do'} not exist: ${list}.`, {
      impact: 'No record was read and no topic was created.',
      hint: 'Check the names, or create the topics. A connector never creates its source topics.',
    })
    this.missing = missing
  }
}
