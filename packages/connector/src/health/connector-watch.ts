/**
 * Updates the gauges, stalls and health of a running connector every five seconds. It does not keep the process alive
 * or block deliveries. A value that cannot be read keeps its last state.
 */

import { type Runtime } from '@waybill/core'
import { engineChannel } from '@waybill/core/internal'
import type { TopicPartition } from '@waybill/kafka'
import type { PartitionStatus } from '../api/binding-view.ts'
import type { ConnectorHealth, HealthStatus } from '../api/connector-report.ts'
import type { ContainerPlace } from '../api/container-place.ts'
import { bindingLabels } from '../binding/binding-label.ts'
import { circuitStateCode, metricName } from '../binding/binding-telemetry.ts'
import { containerStateCode } from '../binding/state-machine.ts'
import type { LossLedger } from '../losses/loss-ledger.ts'
import type { ClusterLink } from '../run/cluster-link.ts'
import type { RegisteredBinding } from '../run/registered-binding.ts'
import { severity } from './assess-health.ts'
import { HealthLog } from './health-log.ts'
import { IdleGauges } from './idle-gauges.ts'
import { LagGauges } from './lag-gauges.ts'
import { type Stall, StallWatch } from './stall-watch.ts'
import { type LastingTrouble, TroubleWatch, troublesOf } from './trouble-watch.ts'

/** The dependencies of the watch. */
export interface WatchDeps {
  readonly bindings: () => readonly RegisteredBinding[]
  readonly clusters: ReadonlyMap<string, ClusterLink>
  readonly losses: LossLedger
  /** Returns the reason why the connector's start failed; undefined if it did not. */
  readonly startFailure: () => string | undefined
  /** Returns the reason why the control of the fleet cannot be read; undefined if it can. */
  readonly controlTrouble?: () => string | undefined
  readonly runtime: Runtime
  readonly stallAfterMs: number
}

interface Owned {
  readonly binding: RegisteredBinding
  readonly place: ContainerPlace
  readonly status: PartitionStatus
}

const everyMs = 5_000
const healthChanged = engineChannel('health:changed')

/** Observes a running connector. */
export class ConnectorWatch {
  readonly #deps: WatchDeps
  readonly #stallWatch: StallWatch
  readonly #healthLog = new HealthLog()
  readonly #troubleWatch = new TroubleWatch()
  readonly #lag: LagGauges
  readonly #idle: IdleGauges
  #stalls: readonly Stall[] = []
  #troubles: readonly LastingTrouble[] = []
  #lastStatus: HealthStatus = 'UP'
  #timer: Disposable | undefined
  #isRunning = false

  constructor(deps: WatchDeps) {
    this.#deps = deps
    this.#stallWatch = new StallWatch(deps.stallAfterMs)
    this.#lag = new LagGauges(deps.runtime)
    this.#idle = new IdleGauges(deps.runtime)
  }

  start(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    this.#arm()
  }

  stop(): void {
    this.#isRunning = false
    this.#timer?.[Symbol.dispose]()
  }

  /** Returns the current health, with stalls and lag as of the last check. */
  health(): ConnectorHealth {
    const { bindings, clusters, losses, startFailure, runtime } = this.#deps
    const health = this.#healthLog.report({
      nowMs: runtime.clock.now(),
      monotonicMs: runtime.clock.monotonic(),
      bindings: bindings().map((binding) => ({
        name: binding.label,
        commanded: binding.commanded,
        startingSinceMs: binding.startingSince,
        pausedBy: binding.pausedBy,
        breaker: binding.breaker,
        containers: binding.containers(),
        losses: losses.of(binding.label),
        stalls: this.#stalls.filter((stall) => stall.binding === binding.label),
        troubles: this.#troubles.filter((trouble) => trouble.binding === binding.label),
      })),
      forgottenLosses: losses.forgotten,
      startFailure: startFailure(),
      controlTrouble: this.#deps.controlTrouble?.(),
      clusters: [...clusters.values()].map(({ name, publishTrouble, reader }) => ({
        name,
        publishTrouble,
        silence: reader.silence,
      })),
    })
    this.#announce(health)
    return health
  }

  /**
   * Sets the gauges of a binding that is no longer registered for the last time: it has no lag, no tiers and no dead
   * letters of its own any more, is idle, and is DESTROYED.
   */
  forget(binding: RegisteredBinding): void {
    this.#measureLag(this.#owned())
    this.#measureTiers(binding, [])
    // Where it was never set, it stays so: the binding never started.
    if (this.#deadLettersOf(binding) !== undefined)
      this.#deps.runtime.metrics.gauge(metricName.deadLetterDepth, bindingLabels(binding), 0)
    this.#idle.forget(binding)
    this.#measureState(binding)
  }

  /** Runs one check. Never rejects. */
  async #check(): Promise<void> {
    await Promise.all([...this.#deps.clusters.values()].map((cluster) => this.#read(cluster)))
    if (!this.#isRunning) return // Stopped meanwhile: the values are outdated.
    const owned = this.#owned()
    this.#stalls = this.#stallWatch.check(
      owned.map(({ binding, place, status }) => ({
        binding: binding.label,
        kind: place.kind,
        status,
        end: this.#endOf(binding, status),
      })),
      this.#deps.runtime.clock.monotonic(),
    )
    this.#troubles = this.#findTroubles()
    for (const binding of this.#deps.bindings()) this.#measure(binding, owned)
    this.#measureLag(owned)
    this.#idle.measure(this.#deps.bindings())
    this.#measureReplicas()
    // The last measurement of a check: a threshold monitor assesses the others now.
    this.#deps.runtime.metrics.gauge(metricName.health, {}, severity[this.health().status])
  }

  #findTroubles(): readonly LastingTrouble[] {
    const { bindings, clusters, runtime, stallAfterMs } = this.#deps
    const troubles = bindings().flatMap((binding) => {
      const isMissing = (topic: string): boolean => clusters.get(binding.cluster)?.reader.isMissing(topic) ?? false
      return troublesOf({ name: binding.label, containers: binding.containers(), isMissing }, stallAfterMs)
    })
    return this.#troubleWatch.check(troubles, runtime.clock.monotonic())
  }

  #arm(): void {
    this.#timer = this.#deps.runtime.timers.schedule(everyMs, () => {
      void this.#tick()
    })
  }

  async #tick(): Promise<void> {
    try {
      await this.#check()
    } catch (err) {
      this.#deps.runtime.logger.error({ err }, 'Connector check failed, retrying')
    }
    if (this.#isRunning) this.#arm()
  }

  async #read(cluster: ClusterLink): Promise<void> {
    const bindings = this.#deps
      .bindings()
      // Includes starting bindings: they are not open yet, and their health must show an unreachable cluster.
      .filter((one) => one.cluster === cluster.name && (one.isOpen || one.startingSince !== undefined))
    await cluster.reader.read({
      owned: this.#owned()
        .filter(({ binding }) => bindings.includes(binding))
        .map(({ status: { topic, partition } }): TopicPartition => ({ topic, partition })),
      deadLetterTopics: [...new Set(bindings.flatMap(({ parts }) => parts.map(({ deadLetter }) => deadLetter.topic)))],
      readTopics: [...new Set(bindings.flatMap((one) => one.containers().map(({ place }) => place.topic)))],
    })
  }

  #owned(): readonly Owned[] {
    return this.#deps
      .bindings()
      .flatMap((binding) =>
        binding
          .containers()
          .flatMap(({ place, members }) =>
            members.flatMap(({ partitions }) => partitions.map((status) => ({ binding, place, status }))),
          ),
      )
  }

  #endOf(binding: RegisteredBinding, at: TopicPartition): bigint | undefined {
    return this.#deps.clusters.get(binding.cluster)?.reader.end(at)
  }

  #measure(binding: RegisteredBinding, owned: readonly Owned[]): void {
    const { groupId, effective } = binding.resolved
    const { preset } = effective
    const info = { ...bindingLabels(binding), group: groupId, preset: typeof preset === 'string' ? preset : 'NONE' }
    this.#deps.runtime.metrics.gauge(metricName.bindingInfo, info, 1)
    this.#measureState(binding)
    const dead = this.#deadLettersOf(binding)
    if (dead !== undefined)
      this.#deps.runtime.metrics.gauge(metricName.deadLetterDepth, bindingLabels(binding), Number(dead))
    this.#measureTiers(
      binding,
      owned.filter((one) => one.binding === binding),
    )
  }

  #measureState(binding: RegisteredBinding): void {
    const { metrics } = this.#deps.runtime
    const labels = bindingLabels(binding)
    metrics.gauge(metricName.circuitState, labels, circuitStateCode[binding.breaker])
    metrics.gauge(metricName.containerState, labels, containerStateCode[binding.state])
  }

  #measureTiers(binding: RegisteredBinding, own: readonly Owned[]): void {
    const { metrics } = this.#deps.runtime
    const labels = bindingLabels(binding)
    const { tiers, waitingTopic } = binding.resolved
    if (waitingTopic !== undefined) {
      const waiting = own.reduce((sum, { status }) => sum + status.waiting, 0)
      metrics.gauge(metricName.tierDepth, { ...labels, tier: 'waiting' }, waiting)
      return
    }
    for (const { tier } of tiers) {
      const depth = own
        .filter(({ place }) => place.tier === tier)
        .reduce((sum, { status }) => sum + this.#lagOf(binding, status), 0)
      metrics.gauge(metricName.tierDepth, { ...labels, tier }, depth)
    }
  }

  /** Returns the number of dead letters; undefined until all of the binding's dead letter topics were read. */
  #deadLettersOf({ cluster, parts }: RegisteredBinding): bigint | undefined {
    const reader = this.#deps.clusters.get(cluster)?.reader
    const topics = new Set(parts.map(({ deadLetter }) => deadLetter.topic))
    const depths = Array.from(topics, (topic) => reader?.depth(topic))
    if (depths.length === 0 || depths.includes(undefined)) return undefined
    return depths.reduce<bigint>((sum, depth) => sum + (depth ?? 0n), 0n)
  }

  #measureReplicas(): void {
    for (const { name, reader } of this.#deps.clusters.values())
      for (const [topic, partitions] of reader.underReplicated)
        this.#deps.runtime.metrics.gauge(metricName.underReplicated, { cluster: name, topic }, partitions)
  }

  #measureLag(owned: readonly Owned[]): void {
    const sources = owned.filter(({ place }) => place.kind === 'SOURCE')
    this.#lag.measure(sources.map(({ binding, status }) => ({ binding, status, end: this.#endOf(binding, status) })))
  }

  #lagOf(binding: RegisteredBinding, status: PartitionStatus): number {
    const lag = (this.#endOf(binding, status) ?? status.watermark) - status.watermark
    return lag > 0n ? Number(lag) : 0
  }

  #announce({ status, reasons }: ConnectorHealth): void {
    const from = this.#lastStatus
    if (status === from) return
    this.#lastStatus = status
    const { logger } = this.#deps.runtime
    // The worst reason is a field of its own: text loggers do not show lists.
    logger[status === 'UP' ? 'info' : 'warn']({ from, to: status, reason: reasons[0], reasons }, 'Health changed')
    if (healthChanged.hasSubscribers) healthChanged.publish({ from, to: status, reasons })
  }
}
