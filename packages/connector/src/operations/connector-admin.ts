import type { Buffer } from 'node:buffer'
import type { OperatorIdentity, StopOptions } from '@waybill/core'
import type { AuditedOperations } from '@waybill/core/internal'
import type { TopicPartition } from '@waybill/kafka'
import type { AdminOperation } from '../api/admin-operation.ts'
import type { BindingDetail, BindingView, KeyState } from '../api/binding-view.ts'
import type { ConfigCode } from '../api/config-code.ts'
import type { Connector } from '../api/connector.ts'
import type {
  Control,
  ControlAnswer,
  ControlCommand,
  ControlScope,
  FleetInstance,
  InstanceStatus,
  PausedRecord,
} from '../api/control.ts'
import type { DeadLetterAdmin } from '../api/dead-letter-admin.ts'
import { defaultCluster } from '../api/define-binding.ts'
import type { BindingProperties, EventBusAdmin, PositionAnswer } from '../api/event-bus-admin.ts'
import { jsonSafe } from '../api/json-safe.ts'
import type { PositionCommand, ResetPosition, SeekPosition, SkipPosition } from '../api/position-command.ts'
import { bindingLabel } from '../binding/binding-label.ts'
import { bindingFromConfig } from '../config/bindings-from-config.ts'
import type { RegisteredBinding } from '../run/registered-binding.ts'
import { auditedDeadLetters } from './audited-dead-letters.ts'
import { targetOf } from './binding-commands.ts'
import { readDestroy, readRegister, readReset, readSeek, readSendToDlt, readSkip, readStop } from './command-rules.ts'
import { failureOf } from './failure-of.ts'
import { lagOf } from './lag-of.ts'

/** The dependencies of the admin. */
export interface ConnectorAdminDeps {
  readonly connector: Pick<Connector, 'register' | 'listBindings'>
  readonly instance: string
  readonly control: Control
  readonly code: ConfigCode
  readonly deadLetters: DeadLetterAdmin
  readonly find: (name: string) => RegisteredBinding
  /** Returns the end of a log at the last read; undefined before the first. */
  readonly endOf: (binding: RegisteredBinding, at: TopicPartition) => bigint | undefined
  readonly audited: AuditedOperations<AdminOperation>
}

/** Implements {@link EventBusAdmin}. Every change is audited. */
export class ConnectorAdmin implements EventBusAdmin {
  readonly #deps: ConnectorAdminDeps
  readonly #audited: AuditedOperations<AdminOperation>
  readonly #deadLetters: DeadLetterAdmin

  constructor(deps: ConnectorAdminDeps) {
    this.#deps = deps
    this.#audited = deps.audited
    this.#deadLetters = auditedDeadLetters(deps.deadLetters, this.#audited, (name) => deps.find(name).label)
  }

  get scope(): ControlScope {
    return this.#deps.control.scope
  }

  async register(properties: BindingProperties, operator: OperatorIdentity): Promise<ControlAnswer> {
    const { name, config } = readRegister(properties)
    const binding = bindingFromConfig(name, config, this.#deps.code)
    const target = bindingLabel({ name, cluster: binding.cluster ?? defaultCluster })
    const change = { operation: 'REGISTER', target, request: properties, operator } as const
    const work = async (): Promise<ControlAnswer> => {
      await this.#deps.connector.register(name, binding)
      const { state } = this.#deps.find(keyOf(properties))
      // Handlers are code of this process, so INSTANCE is the scope even with a shared control.
      return { scope: 'INSTANCE', instances: [{ instance: this.#deps.instance, outcome: 'APPLIED', state }] }
    }
    return this.#audited.run(change, work, summaryOf)
  }

  async destroy(binding: string, operator: OperatorIdentity, options?: StopOptions): Promise<ControlAnswer> {
    return this.#command(binding, { type: 'DESTROY', ...readDestroy(binding, options) }, operator)
  }

  start(binding: string, operator: OperatorIdentity): Promise<ControlAnswer> {
    return this.#command(binding, { type: 'START' }, operator)
  }

  async stop(binding: string, operator: OperatorIdentity, options?: StopOptions): Promise<ControlAnswer> {
    return this.#command(binding, { type: 'STOP', ...readStop(binding, options) }, operator)
  }

  pause(binding: string, operator: OperatorIdentity): Promise<ControlAnswer> {
    return this.#command(binding, { type: 'PAUSE' }, operator)
  }

  resume(binding: string, operator: OperatorIdentity): Promise<ControlAnswer> {
    return this.#command(binding, { type: 'RESUME' }, operator)
  }

  pauseTier(binding: string, tier: number, operator: OperatorIdentity): Promise<ControlAnswer> {
    return this.#command(binding, { type: 'PAUSE_TIER', tier }, operator)
  }

  resumeTier(binding: string, tier: number, operator: OperatorIdentity): Promise<ControlAnswer> {
    return this.#command(binding, { type: 'RESUME_TIER', tier }, operator)
  }

  async sendToDlt(binding: string, given: PausedRecord, operator: OperatorIdentity): Promise<ControlAnswer> {
    return this.#command(binding, { type: 'SEND_TO_DLT', record: readSendToDlt(binding, given) }, operator)
  }

  bindings(): readonly BindingView[] {
    return this.#deps.connector.listBindings()
  }

  binding(name: string): BindingDetail {
    const found = this.#deps.find(name)
    const isFound = (view: BindingView): boolean => view.name === found.name && view.cluster === found.cluster
    const view = this.bindings().find(isFound) as BindingView
    const endOf = (at: TopicPartition): bigint | undefined => this.#deps.endOf(found, at)
    return jsonSafe({ ...view, options: found.resolved.effective, lag: lagOf(view.containers, endOf) })
  }

  keyState(
    binding: string,
    { topic, partition, key }: TopicPartition & { readonly key: Buffer },
  ): KeyState | undefined {
    return this.#deps.find(binding).keyState(topic, partition, key)
  }

  getByTopic(topic: string): readonly BindingView[] {
    return this.bindings().filter(({ topics }) => topics.includes(topic))
  }

  async statuses(): Promise<readonly InstanceStatus[]> {
    return jsonSafe(await this.#deps.control.statuses())
  }

  async instances(): Promise<readonly FleetInstance[]> {
    return jsonSafe(await this.#deps.control.instances())
  }

  async seek(binding: string, seek: SeekPosition, operator: OperatorIdentity): Promise<PositionAnswer> {
    return this.#move(binding, { type: 'SEEK', seek: readSeek(binding, seek) }, operator)
  }

  async skip(binding: string, skip: SkipPosition, operator: OperatorIdentity): Promise<PositionAnswer> {
    return this.#move(binding, { type: 'SKIP', skip: readSkip(binding, skip) }, operator)
  }

  async reset(binding: string, reset: ResetPosition, operator: OperatorIdentity): Promise<PositionAnswer> {
    return this.#move(binding, { type: 'RESET', reset: readReset(binding, reset) }, operator)
  }

  replayDlt(...given: Parameters<DeadLetterAdmin['replayDlt']>): ReturnType<DeadLetterAdmin['replayDlt']> {
    return this.#deadLetters.replayDlt(...given)
  }

  replayToTier(...given: Parameters<DeadLetterAdmin['replayToTier']>): ReturnType<DeadLetterAdmin['replayToTier']> {
    return this.#deadLetters.replayToTier(...given)
  }

  releaseDlt(...given: Parameters<DeadLetterAdmin['releaseDlt']>): ReturnType<DeadLetterAdmin['releaseDlt']> {
    return this.#deadLetters.releaseDlt(...given)
  }

  purgeDlt(...given: Parameters<DeadLetterAdmin['purgeDlt']>): ReturnType<DeadLetterAdmin['purgeDlt']> {
    return this.#deadLetters.purgeDlt(...given)
  }

  dltStats(...given: Parameters<DeadLetterAdmin['dltStats']>): ReturnType<DeadLetterAdmin['dltStats']> {
    return this.#deadLetters.dltStats(...given)
  }

  deadLetters(...given: Parameters<DeadLetterAdmin['deadLetters']>): ReturnType<DeadLetterAdmin['deadLetters']> {
    return this.#deadLetters.deadLetters(...given)
  }

  deadLetterRanges(
    ...given: Parameters<DeadLetterAdmin['deadLetterRanges']>
  ): ReturnType<DeadLetterAdmin['deadLetterRanges']> {
    return this.#deadLetters.deadLetterRanges(...given)
  }

  openReplay(...given: Parameters<DeadLetterAdmin['openReplay']>): ReturnType<DeadLetterAdmin['openReplay']> {
    return this.#deadLetters.openReplay(...given)
  }

  replayDeadLetters(
    ...given: Parameters<DeadLetterAdmin['replayDeadLetters']>
  ): ReturnType<DeadLetterAdmin['replayDeadLetters']> {
    return this.#deadLetters.replayDeadLetters(...given)
  }

  deadLetter(...given: Parameters<DeadLetterAdmin['deadLetter']>): ReturnType<DeadLetterAdmin['deadLetter']> {
    return this.#deadLetters.deadLetter(...given)
  }

  purgeDltRanges(
    ...given: Parameters<DeadLetterAdmin['purgeDltRanges']>
  ): ReturnType<DeadLetterAdmin['purgeDltRanges']> {
    return this.#deadLetters.purgeDltRanges(...given)
  }

  async #command(name: string, command: ControlCommand, operator: OperatorIdentity): Promise<ControlAnswer> {
    const binding = this.#deps.find(name)
    const change = { operation: operationOf(command), target: binding.label, request: command, operator }
    const work = async (): Promise<ControlAnswer> => {
      const answer = jsonSafe(await this.#deps.control.submit({ target: targetOf(binding), command, operator }))
      const failure = failureOf(answer)
      if (failure !== undefined) throw failure
      return answer
    }
    return this.#audited.run(change, work, summaryOf)
  }

  async #move(name: string, command: PositionCommand, operator: OperatorIdentity): Promise<PositionAnswer> {
    const answer = await this.#command(name, command, operator)
    return { ...answer, positions: answer.instances.flatMap(({ positions = [] }) => positions) }
  }
}

function operationOf({ type }: ControlCommand): AdminOperation {
  // Operators cannot request UNREGISTER; to them it is a DESTROY.
  return type === 'UNREGISTER' ? 'DESTROY' : type
}

function summaryOf({ instances }: ControlAnswer): unknown {
  return instances.map(({ instance, outcome, state, error, positions }) => ({
    instance,
    outcome,
    state,
    ...(error === undefined ? {} : { error: error.message }),
    ...(positions === undefined ? {} : { positions }),
  }))
}

function keyOf({ name, cluster }: BindingProperties): string {
  return typeof cluster === 'string' ? `${cluster}:${name}` : name
}
