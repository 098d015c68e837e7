/** Applies a plan to a cluster, as far as that does not endanger a record. */

import { WaybillError } from '@waybill/core'
import type { Admin, AdminCallOptions } from '../client/admin/admin.ts'
import { adminResultsOf, requireAllDone, type TopicResult } from '../client/admin/admin-result.ts'
import type { PlanStep, TopologyPlan } from './plan-topology.ts'
import { renderPlan } from './render-plan.ts'

/** Options of {@link applyTopology}. */
export interface ApplyOptions extends AdminCallOptions {
  /**
   * Changes the configs of topics that exist. Without it only missing topics are created.
   * @defaultValue false
   */
  readonly alterConfigs?: boolean
}

/** The changes that were applied. */
export interface AppliedTopology {
  readonly created: readonly string[]
  /** Topics that another process created in the meantime: plan again to compare them with the declaration. */
  readonly existed: readonly string[]
  /** Topics whose configs were changed. */
  readonly changed: readonly string[]
  /** The remaining differences. */
  readonly left: readonly PlanStep[]
}

/** Reports a plan that would endanger records, or cannot be applied in place. */
export class TopologyRefusedError extends WaybillError {
  static override readonly code = 'WAYBILL_TOPOLOGY_REFUSED'
  readonly steps: readonly PlanStep[]

  constructor(steps: readonly PlanStep[]) {
    const isFixable = steps.every((step) => step.kind === 'CONFIG_UNSAFE' && step.isMended)
    super(`The topology plan is refused. ${renderPlan({ steps, warnings: [] })}\n `, {
      impact: 'Nothing was changed.',
      hint: isFixable ? 'Apply it with alterConfigs: true.' : 'Fix the declaration or the cluster, and plan again.',
    })
    this.steps = steps
  }
}

/**
 * Creates missing topics and, if requested, changes configs. Never deletes and never changes a partition count. Changes
 * nothing at all while the plan has an unsafe setting that would remain. Idempotent.
 *
 * @throws {@link TopologyRefusedError} before anything is changed; PartialFailureError naming each topic that failed.
 */
export async function applyTopology(
  admin: Admin,
  { steps }: TopologyPlan,
  { alterConfigs = false, ...options }: ApplyOptions = {},
): Promise<AppliedTopology> {
  const refused = steps.filter((step) => isRefused(step, alterConfigs))
  if (refused.length > 0) throw new TopologyRefusedError(refused)
  const creations = await createMissing(admin, steps, options)
  const changes = alterConfigs ? await changeConfigs(admin, steps, options) : []
  requireAllDone('Applying the topology', [...creations.filter((one) => !hasExisted(one)), ...changes])
  const changed = changes.map(({ topic }) => topic)
  return {
    created: creations.filter((one) => !hasExisted(one)).map(({ topic }) => topic),
    existed: creations.filter(hasExisted).map(({ topic }) => topic),
    changed,
    left: steps.filter(
      ({ kind, topic }) => kind === 'REPLICATION_DIFFERS' || (kind === 'CONFIG_CHANGE' && !changed.includes(topic)),
    ),
  }
}

function isRefused(step: PlanStep, alterConfigs: boolean): boolean {
  return step.kind === 'DIFFERENT_PARTITIONS' || (step.kind === 'CONFIG_UNSAFE' && !(step.isMended && alterConfigs))
}

async function createMissing(
  admin: Admin,
  steps: readonly PlanStep[],
  options: AdminCallOptions,
): Promise<readonly TopicResult[]> {
  const missing = steps.flatMap((step) => (step.kind === 'CREATE' ? [step.declared] : []))
  if (missing.length === 0) return []
  const topics = missing.map(({ name, partitions, replication, configs }) => ({
    topic: name,
    partitions,
    replication,
    configs: Object.fromEntries(configs),
  }))
  return adminResultsOf(admin.createTopics(topics, options))
}

async function changeConfigs(
  admin: Admin,
  steps: readonly PlanStep[],
  options: AdminCallOptions,
): Promise<readonly TopicResult[]> {
  const changes = new Map<string, Record<string, string>>()
  for (const step of steps) {
    if (step.kind !== 'CONFIG_CHANGE') continue
    changes.set(step.topic, { ...changes.get(step.topic), [step.config]: step.to })
  }
  return changes.size === 0 ? [] : adminResultsOf(admin.alterConfigs(Object.fromEntries(changes), options))
}

function hasExisted(one: TopicResult): boolean {
  return one.outcome === 'FAILED' && one.error.reason === 'TOPIC_ALREADY_EXISTS'
}
