/** An instance of a fleet in a process of its own: it runs bindings, passes commands of its operator on, and shows its states. */

import { createConnector, createFleetControl } from '@waybill/connector'
import { isWaybillError, noopLogger, runtimeWith } from '@waybill/core'
import { systemTimers } from '@waybill/core/internal'
import { createKafkaClient, createTopicLog } from '@waybill/kafka'

/** The commands of a test. */
export type FleetCommandName = 'start' | 'stop' | 'pause' | 'resume' | 'seek'

/** The task of the process. */
export interface FleetTask {
  readonly brokers: readonly string[]
  readonly instance: string
  readonly topic: string
  readonly groupId: string
  readonly bindings: readonly string[]
  readonly logTopic: string
}

/** A command that the process passes on. */
export interface FleetOrder {
  readonly no: number
  readonly binding: string
  readonly command: FleetCommandName
}

/** The states of one moment. */
export interface FleetView {
  readonly kind: 'VIEW'
  readonly no: number
  /** By binding: the state here, and the state that is desired. */
  readonly states: Readonly<Record<string, { readonly state: string; readonly desired: string | undefined }>>
  readonly alive: readonly string[]
}

/** Its messages. */
export type FleetMessage =
  | { readonly kind: 'RUNNING' }
  | {
      readonly kind: 'ANSWERED'
      readonly no: number
      /** The answers by instance, or the code of the error. */
      readonly answer: readonly string[]
      readonly error: string | undefined
    }
  | FleetView

const task = JSON.parse(process.argv[2] ?? '') as FleetTask
const tell = (message: FleetMessage): void => void (process.connected && process.send?.(message))
const operator = { by: 'test' }
const kafka = createKafkaClient({ brokers: task.brokers })
const runtime = runtimeWith({ logger: noopLogger })
const control = createFleetControl({ log: createTopicLog({ client: kafka, topic: task.logTopic }), runtime })
const targetOf = (binding: string) => ({ cluster: 'default', groupId: `${task.groupId}-${binding}`, binding })

const connector = createConnector({
  instance: task.instance,
  clusters: { default: kafka },
  control,
  runtime,
  derivedTopics: 'ASSUME',
  administration: { auditLog: { write: () => {} }, permits: () => true },
  bindings: Object.fromEntries(
    task.bindings.map((binding) => [
      binding,
      {
        topic: task.topic,
        groupId: `${task.groupId}-${binding}`,
        retry: { tiers: [] },
        retryTopicNaming: 'PER_GROUP',
        shutdownTimeoutMs: 5_000,
        handler: () => {},
      },
    ]),
  ),
})

async function give(binding: string, command: FleetCommandName) {
  if (command === 'seek') return connector.admin.seek(binding, { to: 'LATEST' }, operator)
  return connector.admin[command](binding, operator)
}

async function carryOut({ no, binding, command }: FleetOrder): Promise<void> {
  try {
    const { instances } = await give(binding, command)
    const answer = instances.map(({ instance, outcome, state }) => `${instance} ${outcome} ${state}`)
    tell({ kind: 'ANSWERED', no, answer, error: undefined })
  } catch (error) {
    tell({ kind: 'ANSWERED', no, answer: [], error: isWaybillError(error) ? error.code : String(error) })
  }
}

async function show(no: number): Promise<void> {
  const states: Record<string, { state: string; desired: string | undefined }> = {}
  for (const binding of task.bindings)
    states[binding] = { state: connector.getState(binding), desired: await control.desired(targetOf(binding)) }
  const statuses = await control.statuses()
  const alive = new Set(statuses.filter((one) => one.isAlive).map(({ instance }) => instance))
  tell({ kind: 'VIEW', no, states, alive: [...alive] })
}

process.on('message', (message: FleetOrder | { readonly view: number }) => {
  if ('view' in message) void show(message.view)
  else void carryOut(message)
})
process.once('disconnect', () => process.exit(0))
await connector.start()
tell({ kind: 'RUNNING' })
await systemTimers.sleep(Number.POSITIVE_INFINITY)
