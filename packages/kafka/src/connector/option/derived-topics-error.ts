import { WaybillError } from '@waybill/core'
import type { PlanStep, TopologyPlan } from '../../topology/plan-topology.ts'
import { renderPlan } from '../../topology/render-plan.ts'

/** The topics that bindings move records to are missing, or would lose records. */
export class DerivedTopicsError extends WaybillError {
  static override readonly code = 'WAYBILL_DERIVED_TOPICS_INVALID'
  readonly steps: readonly PlanStep[]

  constructor(plan: TopologyPlan, mode: 'CREATE' | 'VERIFY') {
    const isOnlyMissing = plan.steps.every(({ kind }) => kind === 'CREATE')
    super(`The derived topics are not as the bindings need them (derivedTopics: ${mode}). ${renderPlan(plan)}\n `, {
      kept: 'No record was read and no topic was changed.',
      next: isOnlyMissing
        ? "Create them, or use derivedTopics: 'CREATE'."
        : 'Mend these topics by hand, or name others: what exists is never altered.',
    })
    this.steps = plan.steps
  }
}
