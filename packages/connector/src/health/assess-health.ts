/**
 * Derives findings for operators from a snapshot: binding and partition, problem, start time, advice. Pure.
 *
 * | status | when |
 * |---|---|
 * | DOWN | the connector start failed; a group member failed, stopped by itself or cannot join its group |
 * | | a topic is missing; a partition is owned and not read, or stalled; records were lost and not acknowledged |
 * | | a batch is damaged or larger than `maxBatchBytes`, and its partition waits before it |
 * | | retry or dead letter records cannot be written, or a transaction cannot be committed |
 * | DEGRADED | a breaker is not closed; something is paused; a record waits for an operator; a start takes long |
 * | | the cluster does not answer; a commit cannot be accounted for; the control of the fleet cannot be read |
 * | UP | none of these; a binding that is stopping or was stopped by a command is only a remark |
 */

import type { CircuitState } from '@waybill/core/internal'
import type { ContainerStatus, MemberStatus, PartitionStatus, UnreadableBatch } from '../api/binding-view.ts'
import type { HealthStatus, RecordLoss } from '../api/connector-report.ts'
import type { PauseReason } from '../api/pause-reason.ts'
import type { Commanded } from '../binding/state-machine.ts'
import type { Stall } from './stall-watch.ts'
import type { LastingTrouble } from './trouble-watch.ts'

/** A reason or remark of a health report. */
export interface Finding {
  /** Identifies the finding over time, to keep its start time. */
  readonly key: string
  /** UP marks a remark. */
  readonly status: HealthStatus
  readonly binding?: string
  readonly what: string
  readonly hint: string
  /** The start in epoch milliseconds, if it is known better than from the first report. */
  readonly sinceMs?: number
}

/** The state of a binding that health depends on. */
export interface BindingSnapshot {
  readonly name: string
  readonly commanded: Commanded
  /** The monotonic time at which the current start began; undefined while none is in progress. */
  readonly startingSinceMs: number | undefined
  readonly pausedBy: ReadonlySet<PauseReason>
  readonly breaker: CircuitState
  readonly containers: readonly ContainerStatus[]
  readonly losses: readonly RecordLoss[]
  readonly stalls: readonly Stall[]
  readonly troubles: readonly LastingTrouble[]
}

/** The state of a cluster that health depends on. */
export interface ClusterSnapshot {
  readonly name: string
  /** The reason why retry and dead letter records cannot be written; undefined when they can. */
  readonly publishTrouble: string | undefined
  /** The reason why it does not answer; undefined when it does. */
  readonly silence: string | undefined
}

/** Everything that health depends on at one moment. */
export interface HealthSnapshot {
  readonly nowMs: number
  readonly monotonicMs: number
  readonly bindings: readonly BindingSnapshot[]
  readonly clusters: readonly ClusterSnapshot[]
  /** The number of unacknowledged losses dropped to make room for newer ones. */
  readonly forgottenLosses: number
  /** The reason why the connector's start failed; undefined if it did not. */
  readonly startFailure: string | undefined
  /** The reason why the control of the fleet cannot be read; undefined when it can. */
  readonly controlTrouble?: string | undefined
}

/** Returns the findings of a snapshot, the worst first. */
export function assess(snapshot: HealthSnapshot): readonly Finding[] {
  const findings = [
    ...startFailureFindings(snapshot),
    ...forgottenFindings(snapshot),
    ...controlFindings(snapshot),
    ...snapshot.clusters.flatMap(clusterFindings),
    ...snapshot.bindings.flatMap((binding) =>
      bindingFindings(binding, snapshot).map((one) => ({ ...one, binding: binding.name })),
    ),
  ]
  return findings.toSorted((one, other) => severity[other.status] - severity[one.status])
}

/** Returns the worst status among findings. */
export function statusOf(findings: readonly Finding[]): HealthStatus {
  return findings.reduce<HealthStatus>(
    (worst, { status }) => (severity[status] > severity[worst] ? status : worst),
    'UP',
  )
}

/** The values of the metric `eventbus.health`. */
export const severity: Readonly<Record<HealthStatus, number>> = { UP: 0, DEGRADED: 1, DOWN: 2 }

function startFailureFindings({ startFailure }: HealthSnapshot): readonly Finding[] {
  if (startFailure === undefined) return []
  return [
    {
      key: 'start failed',
      status: 'DOWN',
      what: `Connector start failed: ${startFailure.replace(/\s*\n\s*/g, ' ')}`,
      hint: 'Nothing is read. Fix the cause, then restart the process: a failed connector cannot be started again.',
    },
  ]
}

function forgottenFindings({ forgottenLosses }: HealthSnapshot): readonly Finding[] {
  if (forgottenLosses === 0) return []
  return [
    {
      key: 'losses forgotten',
      status: 'DOWN',
      what: `${forgottenLosses} older losses are no longer listed: there were too many.`,
      hint: 'The log has all of them. Acknowledge the losses of every binding after you have read them.',
    },
  ]
}

function controlFindings({ controlTrouble }: HealthSnapshot): readonly Finding[] {
  if (controlTrouble === undefined) return []
  return [
    {
      key: 'control unreadable',
      status: 'DEGRADED',
      what: `The control of the fleet cannot be read: ${controlTrouble.replace(/\s*\n\s*/g, ' ')}`,
      hint: 'Commands do not arrive, and no binding starts. What runs continues. Check the store of the log.',
    },
  ]
}

function clusterFindings({ name, publishTrouble, silence }: ClusterSnapshot): readonly Finding[] {
  const findings: Finding[] = []
  if (publishTrouble !== undefined)
    findings.push({
      key: `cluster ${name} publish`,
      status: 'DOWN',
      what: `Cluster ${name}: retry and dead letter records cannot be written: ${publishTrouble}`,
      hint: 'No record is lost: the originals stay unsettled. Check these topics, their ACLs and their replicas.',
    })
  if (silence !== undefined)
    findings.push({
      key: `cluster ${name} silent`,
      status: 'DEGRADED',
      what: `Cluster ${name} does not answer: ${silence}`,
      hint: 'Lag is unknown meanwhile. Check the brokers and the network.',
    })
  return findings
}

function bindingFindings(binding: BindingSnapshot, now: HealthSnapshot): readonly Finding[] {
  const { name, commanded } = binding
  const kept = binding.losses.map(lossFinding)
  if (binding.startingSinceMs !== undefined) return [...kept, startFinding(name, binding.startingSinceMs, now)]
  if (commanded !== 'RUNNING')
    return [...kept, remark(`${name} ${commanded}`, `Binding ${name} is ${commanded}, as commanded.`)]
  return [
    ...kept,
    ...stopFindings(binding),
    ...binding.containers.flatMap((container) => containerFindings(name, container)),
    ...binding.troubles.map((trouble) => troubleFinding(trouble, now)),
    ...binding.stalls.map((stall) => stallFinding(stall, now)),
    ...pauseFindings(binding),
    ...breakerFindings(binding),
  ]
}

/** Joining a group takes a few seconds; a longer start is blocked. */
const maxStartMs = 10_000

function startFinding(name: string, sinceMs: number, now: HealthSnapshot): Finding {
  const what = `Binding ${name} is starting.`
  if (now.monotonicMs - sinceMs < maxStartMs) return remark(`${name} starting`, what)
  return {
    key: `${name} starting`,
    status: 'DEGRADED',
    what,
    hint: 'It reads nothing yet. Check the brokers of its cluster and the network.',
    sinceMs: epochOf(sinceMs, now),
  }
}

/** A stop takes as long as running handlers and the last commits, up to its deadline. */
function stopFindings({ name, containers }: BindingSnapshot): readonly Finding[] {
  const isStopping = containers.length > 0 && containers.every(isStopped)
  return isStopping ? [remark(`${name} stopping`, `Binding ${name} is stopping.`)] : []
}

/** Returns true from the beginning of a stop on. */
function isStopped({ pausedBy }: ContainerStatus): boolean {
  return pausedBy.includes('SHUTDOWN')
}

function containerFindings(binding: string, container: ContainerStatus): readonly Finding[] {
  const { place, pausedBy, members } = container
  // Reported once for the binding.
  const isHeld = pausedBy.includes('EXHAUSTED')
  const unreadable = members.flatMap((member) => member.unreadable.map((batch) => unreadableFinding(binding, batch)))
  const standing = members
    .flatMap(({ partitions }) => partitions)
    .flatMap((partition) => partitionFindings(binding, partition, isHeld))
  const isEnding = isStopped(container)
  const down = members.flatMap((member) => memberFindings(binding, place.name, member, isEnding))
  return [...down, ...unreadable, ...standing]
}

function unreadableFinding(binding: string, { topic, partition, offset, why, hint }: UnreadableBatch): Finding {
  return {
    key: `${binding} ${topic} ${partition} unreadable`,
    status: 'DOWN',
    what: `Binding ${binding}, ${topic}-${partition}: stopped at offset ${offset}: ${why}`,
    hint,
  }
}

function memberFindings(
  binding: string,
  container: string,
  { index, state, failure }: MemberStatus,
  isEnding: boolean,
): readonly Finding[] {
  const isDown = state === 'FAILED' || (state === 'STOPPED' && !isEnding)
  if (failure === undefined && !isDown) return []
  const why = failure === undefined ? `is ${state} without a stop command` : `failed: ${failure}`
  return [
    {
      key: `${binding} ${container} member ${index}`,
      status: 'DOWN',
      what: `Binding ${binding}: member ${index} of ${container} ${why}`,
      hint: 'Unsettled records are redelivered. It restarts by itself unless it was fenced; fix the cause.',
    },
  ]
}

function partitionFindings(binding: string, status: PartitionStatus, isHeld: boolean): readonly Finding[] {
  const { topic, partition, watermark, pausedBy, waiting, trouble } = status
  const place = `Binding ${binding}, ${topic}-${partition}`
  const key = `${binding} ${topic} ${partition}`
  const findings: Finding[] = []
  if (pausedBy.includes('EXHAUSTED') && !isHeld)
    findings.push({
      key: `${key} exhausted`,
      status: 'DEGRADED',
      ...(trouble === undefined || pausedBy.includes('DEAD_LETTER_FAILURE')
        ? {
            what: `${place}: the record at offset ${watermark} failed permanently and waits for an operator.`,
            hint: 'Fix the cause of the failure, then resume the binding: the record is retried.',
          }
        : { what: `${place} is not started: ${trouble}`, hint: 'Other partitions continue.' }),
    })
  if (pausedBy.includes('WAITING_FULL'))
    findings.push({
      key: `${key} waiting full`,
      status: 'DEGRADED',
      what: `${place}: ${waiting} records wait behind failed ones of their keys, which is the limit.`,
      hint: 'No record is dropped. Fix the cause of the failures, or raise keyOrder.maxWaitingRecords.',
    })
  if (pausedBy.includes('DEAD_LETTER_FAILURE'))
    findings.push({
      key: `${key} publish`,
      status: 'DOWN',
      // The trouble names a retry record, a dead letter or a transaction.
      what: `${place}: ${trouble ?? 'a write is not confirmed.'}`,
      hint: 'No record is lost: the write is retried, and no handler of this partition starts before it succeeds.',
    })
  return findings
}

function lossFinding(loss: RecordLoss): Finding {
  const { binding, topic, partition, kind, what, atMs } = loss
  return {
    key: `${binding} ${topic} ${partition} ${kind} ${what}`,
    status: kind === 'LOST' ? 'DOWN' : 'DEGRADED',
    what: `Binding ${binding}, ${topic}-${partition}: ${what}`,
    hint: 'Recover the missing records from their source, then acknowledge the loss.',
    sinceMs: atMs,
  }
}

function troubleFinding({ key, what, hint, sinceMs }: LastingTrouble, now: HealthSnapshot): Finding {
  return { key, status: 'DOWN', what, hint, sinceMs: epochOf(sinceMs, now) }
}

function epochOf(sinceMs: number, { nowMs, monotonicMs }: HealthSnapshot): number {
  return nowMs - Math.round(monotonicMs - sinceMs)
}

function stallFinding(stall: Stall, now: HealthSnapshot): Finding {
  const { binding, topic, partition, watermark, cause, sinceMs } = stall
  const isLong = cause === 'LONG_CALL'
  const place = `Binding ${binding}, ${topic}-${partition}`
  return {
    key: `${binding} ${topic} ${partition} stalled`,
    status: 'DOWN',
    what: isLong
      ? `${place}: a handler call does not finish; the lowest unsettled offset is ${watermark}.`
      : `${place}: no progress at offset ${watermark} although records are pending.`,
    hint: isLong
      ? 'Find out what the handler waits for, and set handlerTimeoutMs. A restart redelivers its record.'
      : "Check that record and its handler's dependencies; a producer's open transaction has the same symptom.",
    sinceMs: epochOf(sinceMs, now),
  }
}

function pauseFindings({ name, pausedBy, containers }: BindingSnapshot): readonly Finding[] {
  const findings: Finding[] = []
  if (pausedBy.has('OPERATOR'))
    findings.push({
      key: `${name} paused`,
      status: 'DEGRADED',
      what: `Binding ${name} is paused by an operator.`,
      hint: 'Resume it when it may continue.',
    })
  else
    for (const tier of pausedTiersOf(containers))
      findings.push({
        key: `${name} tier ${tier} paused`,
        status: 'DEGRADED',
        what: `Tier ${tier} of binding ${name} is paused by an operator.`,
        hint: 'Resume the tier when it may continue.',
      })
  if (pausedBy.has('EXHAUSTED'))
    findings.push({
      key: `${name} exhausted`,
      status: 'DEGRADED',
      what: `Binding ${name} is paused: the classifier returned PAUSE_CONTAINER for a failed record.`,
      hint: 'Fix the cause of the failure, then resume the binding: the record is retried.',
    })
  return findings
}

function breakerFindings({ name, breaker }: BindingSnapshot): readonly Finding[] {
  if (breaker === 'CLOSED') return []
  const isOpen = breaker === 'OPEN'
  return [
    {
      key: `${name} breaker ${breaker}`,
      status: 'DEGRADED',
      what: `Binding ${name}: its circuit breaker is ${isOpen ? 'open' : 'half-open and probing'}.`,
      hint: "Check the handler's dependencies. No record is lost, and the breaker closes by itself once calls succeed.",
    },
  ]
}

function remark(key: string, what: string): Finding {
  return { key, status: 'UP', what, hint: '' }
}

/** Returns the tiers that an operator paused on their own, each once: a tier has a container for each topic. */
function pausedTiersOf(containers: readonly ContainerStatus[]): ReadonlySet<number> {
  const paused = containers.filter((one) => one.place.kind === 'TIER' && one.pausedBy.includes('OPERATOR'))
  return new Set(paused.map(({ place }) => place.tier))
}
