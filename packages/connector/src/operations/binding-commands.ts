/**
 * Runs the commands of one process: sequentially for each binding, concurrently for different bindings.
 *
 * The name is resolved when a command arrives, not when its turn comes: by then another binding may have the name.
 */

import { describeThrown, type OperatorIdentity, StateError, StopDeadlineError, type StopOptions } from '@waybill/core'
import { createNamedMutex } from '@waybill/core/internal'
import { durationMs, resolveOptions } from '@waybill/core/option'
import { BindingNotFoundError, ConnectorClosedError } from '../api/connector-errors.ts'
import type { ConnectorHealth } from '../api/connector-report.ts'
import type { BindingCommand, ContainerState } from '../api/container-state.ts'
import type {
  BindingStatus,
  Control,
  ControlCommand,
  ControlledInstance,
  ControlRequest,
  ControlTarget,
  DesiredState,
  InstanceAnswer,
  InstanceHealth,
  StateCommand,
} from '../api/control.ts'
import type { PauseReason } from '../api/pause-reason.ts'
import { type PositionCommand, type PositionReport, whichOf } from '../api/position-command.ts'
import type { AdministeredBinding } from '../positions/administered-binding.ts'
import type { PositionOperations } from '../positions/position-operations.ts'
import type { RegisteredBinding } from '../run/registered-binding.ts'
import { type Registry, registryKey } from '../run/registry.ts'
import { BindingsAway } from './bindings-away.ts'
import { type FigureDeps, figuresOf } from './figures-of.ts'

/** The dependencies of commands. */
export interface BindingCommandsDeps {
  /** The name of this process in answers. */
  readonly instance: string
  readonly registry: Registry<RegisteredBinding>
  /** Called when a binding is destroyed and no longer registered. */
  readonly forgotten: (binding: RegisteredBinding) => void
  readonly positions: PositionOperations
  /** Aborts when the connector accepts no more commands. */
  readonly closing: AbortSignal
  readonly isClosed: () => boolean
  readonly desired: Control['desired']
  readonly pausedTiers: Control['pausedTiers']
  /** Prepares what a binding needs before its start. */
  readonly prepare: (binding: RegisteredBinding) => Promise<void>
  readonly figures: FigureDeps
  /** Returns the health of the connector. */
  readonly health: () => Pick<ConnectorHealth, 'status' | 'reasons'>
  readonly administered: (binding: RegisteredBinding, topic: string | undefined) => AdministeredBinding
}

const stopRules = { deadlineMs: durationMs({ default: 0, because: 'the shutdownTimeoutMs of the binding applies' }) }

/** Reasons that are reported to other processes. */
const mostReasons = 20
const longestReason = 500

/** Runs the commands of one process. */
export class BindingCommands implements ControlledInstance {
  readonly name: string
  readonly #deps: BindingCommandsDeps
  readonly #turns = createNamedMutex()
  readonly #aways: BindingsAway

  constructor(deps: BindingCommandsDeps) {
    this.name = deps.instance
    this.#deps = deps
    this.#aways = new BindingsAway({
      closing: deps.closing,
      serially: (binding, work) =>
        this.serially(binding, () => {
          this.assertOpen(`move the positions of binding '${binding.name}'`)
          return work()
        }),
    })
  }

  /** Never rejects. */
  apply({ target, command, operator }: ControlRequest): Promise<InstanceAnswer> {
    return this.#answer(target, (binding) => this.#run(binding, command, operator))
  }

  /** Never rejects. */
  async #answer(
    target: ControlTarget,
    run: (binding: RegisteredBinding) => Promise<readonly PositionReport[] | undefined>,
  ): Promise<InstanceAnswer> {
    try {
      const binding = this.#find(target)
      const positions = await run(binding)
      const answer = { instance: this.name, outcome: 'APPLIED', state: binding.state } as const
      return positions === undefined ? answer : { ...answer, positions }
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new StateError(describeThrown(thrown))
      return { instance: this.name, outcome: 'FAILED', state: this.#stateOf(target), error }
    }
  }

  async obey(target: ControlTarget, desired: DesiredState): Promise<void> {
    const binding = this.#find(target)
    await this.serially(binding, async () => {
      this.assertOpen(`${desired === 'RUNNING' ? 'start' : 'hold'} binding '${binding.name}'`)
      if (desired === 'STOPPED') {
        if (binding.allows('stop')) await binding.stop({ deadlineMs: deadlineOf(binding, {}) })
      } else if (binding.allows('start')) {
        await binding.duringStart(async () => {
          await this.#deps.prepare(binding)
          await this.#begin(binding, desired)
        })
      } else if (desired === 'PAUSED') {
        if (binding.allows('pause')) binding.pause()
      } else if (binding.pausedBy.has('OPERATOR')) binding.resume()
    })
  }

  async obeyTiers(target: ControlTarget, pausedTiers: readonly number[]): Promise<void> {
    const binding = this.#find(target)
    await this.serially(binding, () => binding.keepPaused(pausedTiers))
  }

  away(target: ControlTarget): Promise<InstanceAnswer> {
    return this.#answer(target, (binding) => this.#aways.leave(binding))
  }

  back(target: ControlTarget): Promise<InstanceAnswer> {
    return this.#answer(target, (binding) => this.#aways.comeBack(binding))
  }

  statuses(): readonly BindingStatus[] {
    return this.#deps.registry.list().map((binding) => ({
      target: targetOf(binding),
      state: binding.state,
      pausedBy: [...binding.pausedBy],
      figures: figuresOf(binding, this.#deps.figures),
    }))
  }

  health(): InstanceHealth {
    const { status, reasons } = this.#deps.health()
    return { status, reasons: reasons.slice(0, mostReasons).map((reason) => reason.slice(0, longestReason)) }
  }

  /** Runs a command after the previous ones of the binding. */
  serially<T>(binding: RegisteredBinding, command: () => T | Promise<T>): Promise<T> {
    return this.#turns.run(registryKey(binding), command)
  }

  /** Starts a binding that is CREATED or STOPPED. */
  async start(binding: RegisteredBinding): Promise<void> {
    await this.#startSerially(binding, async () => {
      await this.#deps.prepare(binding)
      await this.#begin(binding, undefined)
    })
  }

  /** Starts a binding automatically, unless its desired state is STOPPED. */
  async startAsDesired(binding: RegisteredBinding): Promise<void> {
    await this.#startSerially(binding, async () => {
      const desired = await this.#deps.desired(targetOf(binding))
      if (desired === 'STOPPED') return
      await this.#deps.prepare(binding)
      await this.#begin(binding, desired)
    })
  }

  /** Removes a binding that could not be started. */
  async remove(binding: RegisteredBinding): Promise<void> {
    await this.serially(binding, () => this.#forget(binding, binding.resolved.shutdownTimeoutMs))
  }

  /** @throws ConnectorClosedError */
  assertOpen(what: string): void {
    if (this.#deps.isClosed()) throw new ConnectorClosedError(what)
  }

  #begin(binding: RegisteredBinding, desired: DesiredState | undefined): Promise<void> {
    const { closing, pausedTiers } = this.#deps
    return binding.start(closing, { heldBy: heldBy(desired), pausedTiers: pausedTiers(targetOf(binding)) })
  }

  async #startSerially(binding: RegisteredBinding, start: () => Promise<void>): Promise<void> {
    await this.serially(binding, async () => {
      this.assertOpen(`start binding '${binding.name}'`)
      binding.check('start')
      await binding.duringStart(start)
    })
  }

  async #run(
    binding: RegisteredBinding,
    command: ControlCommand,
    operator: OperatorIdentity,
  ): Promise<readonly PositionReport[] | undefined> {
    switch (command.type) {
      case 'START':
        await this.start(binding)
        return undefined
      case 'STOP':
        await this.#stop(binding, command)
        return undefined
      case 'PAUSE':
        await this.#switch(binding, 'pause', command, () => binding.pause())
        return undefined
      case 'RESUME':
        await this.#switch(binding, 'resume', command, () => binding.resume())
        return undefined
      case 'PAUSE_TIER':
        await this.serially(binding, () => binding.pauseTier(command.tier))
        return undefined
      case 'RESUME_TIER':
        await this.serially(binding, () => binding.resumeTier(command.tier))
        return undefined
      case 'SEND_TO_DLT':
        await this.serially(binding, () => binding.sendToDlt(command.record))
        return undefined
      case 'DESTROY':
        await this.#destroy(binding, command)
        return undefined
      case 'UNREGISTER':
        await this.#unregister(binding)
        return undefined
      case 'SEEK':
      case 'SKIP':
      case 'RESET':
        return this.#move(binding, command, operator)
    }
  }

  async #stop(binding: RegisteredBinding, options: StateCommand): Promise<void> {
    const deadlineMs = deadlineOf(binding, options)
    await this.serially(binding, () => binding.stop({ deadlineMs }))
    assertFinished(binding)
  }

  async #switch(
    binding: RegisteredBinding,
    command: BindingCommand,
    { isForAll = false }: StateCommand,
    run: () => void,
  ): Promise<void> {
    await this.serially(binding, () => {
      if (!isForAll || binding.allows(command)) run()
    })
  }

  async #destroy(binding: RegisteredBinding, options: StateCommand): Promise<void> {
    const deadlineMs = deadlineOf(binding, options)
    binding.cancelStart()
    await this.serially(binding, async () => {
      binding.check('destroy')
      await this.#forget(binding, deadlineMs)
    })
    assertFinished(binding)
  }

  async #unregister(binding: RegisteredBinding): Promise<void> {
    await this.serially(binding, async () => {
      binding.check('unregister')
      await this.#forget(binding, 0)
    })
  }

  async #move(
    binding: RegisteredBinding,
    command: PositionCommand,
    operator: OperatorIdentity,
  ): Promise<readonly PositionReport[]> {
    const name = command.type.toLowerCase() as Lowercase<PositionCommand['type']>
    const { positions, closing, administered } = this.#deps
    const move = (): Promise<readonly PositionReport[]> =>
      positions.move(administered(binding, whichOf(command).topic), command, operator)
    // It has left its groups for this move, which another process coordinates.
    if (this.#aways.has(binding)) return this.#aways.during(binding, move)
    return this.serially(binding, () => {
      this.assertOpen(`${name} binding '${binding.name}'`)
      binding.check(name)
      const deadlineMs = binding.resolved.shutdownTimeoutMs
      return binding.whileAway({ deadlineMs }, closing, move)
    })
  }

  /**
   * Destroys before it unregisters: a queued command could otherwise start a binding that the connector no longer
   * stops.
   */
  async #forget(binding: RegisteredBinding, deadlineMs: number): Promise<void> {
    if (binding.allows('destroy')) await binding.destroy({ deadlineMs })
    this.#deps.registry.unregister(binding)
    this.#deps.forgotten(binding)
  }

  #find(target: ControlTarget): RegisteredBinding {
    const { registry } = this.#deps
    const key = registryKey({ cluster: target.cluster, name: target.binding })
    const binding = registry.get(key)
    if (binding.resolved.groupId === target.groupId) return binding
    throw new BindingNotFoundError(`${key} of group ${target.groupId}`, registry.list().map(registryKey))
  }

  #stateOf({ cluster, binding: name }: ControlTarget): ContainerState | undefined {
    const key = registryKey({ cluster, name })
    return this.#deps.registry.list().find((binding) => registryKey(binding) === key)?.state
  }
}

/** Returns the control target of a binding. */
export function targetOf({ cluster, name, resolved }: RegisteredBinding): ControlTarget {
  return { cluster, groupId: resolved.groupId, binding: name }
}

/** Returns the reasons that pause a binding from its start on. */
export function heldBy(desired: DesiredState | undefined): readonly PauseReason[] {
  return desired === 'PAUSED' ? ['OPERATOR'] : []
}

function deadlineOf({ name, resolved }: RegisteredBinding, { deadlineMs }: StopOptions): number {
  if (deadlineMs === undefined) return resolved.shutdownTimeoutMs
  return resolveOptions(`stop of binding ${name}`, stopRules, { deadlineMs }).deadlineMs
}

/** Throws when handlers still run: after a successful stop, callers close the resources that handlers use (I18). */
function assertFinished(binding: RegisteredBinding): void {
  const unfinished = binding.unfinished()
  if (unfinished.length > 0) throw new StopDeadlineError(`binding ${binding.label}`, unfinished)
}
