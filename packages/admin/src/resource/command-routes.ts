import type { BindingProperties, ControlAnswer } from '@waybill/connector/internal'
import { checkCommand } from '@waybill/connector/internal'
import { OptionsError } from '@waybill/core'
import { isPlainObject } from '@waybill/core/option'
import { AdminNotFoundError } from '../problem/admin-errors.ts'
import { type Answer, type Call, requirePermission } from '../route/call.ts'
import { type Route, route } from '../route/route.ts'
import { list, mapOf, object } from '../schema/composite-schemas.ts'
import { about, optional } from '../schema/schema.ts'
import { anyJson, integer, text } from '../schema/value-schemas.ts'
import type { AdminServices } from '../service/admin-services.ts'
import { type FoundBinding, findBinding } from '../service/find-binding.ts'
import { commandAnswerSchema } from './answer-schemas.ts'
import { commandAnswer } from './command-answer.ts'

const deadline = optional(about('How long handlers may still run.', integer({ max: 3_600_000 })))

type Lifecycle = 'start' | 'stop' | 'pause' | 'resume'

/** Routes that change bindings. */
export function commandRoutes(services: AdminServices): readonly Route[] {
  const { connector } = services
  const tag = 'Bindings'
  return [
    ...(['start', 'stop', 'pause', 'resume'] as const).map((command) => lifecycleRoute(services, command)),
    route({
      id: 'registerBinding',
      method: 'POST',
      path: '/eventbus/bindings',
      tag,
      summary: 'Registers a binding, whose handler is code of the host',
      access: { permission: 'bindings:register', of: 'SOME' },
      body: about('The properties of bindingsFromConfig, with a name.', mapOf(anyJson)),
      change: { operation: 'REGISTER', isDestructive: false },
      hasDryRun: false,
      status: 201,
      answer: commandAnswerSchema,
      async run(call) {
        if (connector === undefined) throw new AdminNotFoundError('This server has no connector.')
        const { reason: _reason, ...properties } = call.body
        const { name, cluster } = properties
        const key = typeof cluster === 'string' && cluster !== 'default' ? `${cluster}:${String(name)}` : String(name)
        requirePermission(call, 'bindings:register', key)
        const answer = await asContent(() => connector.admin.register(properties as BindingProperties, call.operator))
        const location = `/eventbus/bindings/${encodeURIComponent(key)}`
        return { headers: { location }, body: commandAnswer(answer) }
      },
    }),
    route({
      id: 'destroyBinding',
      method: 'DELETE',
      path: '/eventbus/bindings/{name}',
      tag,
      summary: 'Stops and removes a binding',
      access: { permission: 'bindings:register', of: 'SUBJECT' },
      query: { deadlineMs: deadline },
      change: { operation: 'DESTROY', isDestructive: true },
      answer: commandAnswerSchema,
      async run(call) {
        const found = findBinding(connector, call, call.params['name'] ?? '', 'bindings:register')
        if (call.isDryRun) return { body: await plannedAnswer(found) }
        return {
          body: commandAnswer(
            await found.connector.admin.destroy(labelOf(found), call.operator, stopOptions(call.query)),
          ),
        }
      },
    }),
    route({
      id: 'acknowledgeLosses',
      method: 'POST',
      path: '/eventbus/bindings/{name}/losses/acknowledge',
      tag,
      summary: 'Acknowledges lost and unaccounted records, so that they no longer affect health',
      access: { permission: 'losses:acknowledge', of: 'SUBJECT' },
      body: { topic: optional(text({ max: 249 })), partition: optional(integer({ max: 1_000_000 })) },
      change: { operation: 'ACKNOWLEDGE_LOSS', isDestructive: true },
      hasDryRun: false,
      answer: object({ acknowledged: list(anyJson) }),
      async run(call) {
        const found = findBinding(connector, call, call.params['name'] ?? '', 'losses:acknowledge')
        const { topic, partition } = call.body
        if ((topic === undefined) !== (partition === undefined))
          throw new OptionsError('The body', [
            { path: topic === undefined ? 'topic' : 'partition', problem: 'is required: a partition is named by both' },
          ])
        const at = topic === undefined || partition === undefined ? undefined : { topic, partition }
        return { body: { acknowledged: await found.connector.acknowledgeLoss(labelOf(found), call.operator, at) } }
      },
    }),
  ]
}

function lifecycleRoute({ connector }: AdminServices, command: Lifecycle): Route {
  return route({
    id: `${command}Binding`,
    method: 'POST',
    path: `/eventbus/bindings/{name}/${command}`,
    tag: 'Bindings',
    summary: summaries[command],
    access: { permission: 'bindings:operate', of: 'SUBJECT' },
    body: command === 'stop' ? { deadlineMs: deadline } : {},
    change: { operation: command.toUpperCase(), isDestructive: false },
    answer: commandAnswerSchema,
    async run(call): Promise<Answer> {
      const found = findBinding(connector, call, call.params['name'] ?? '', 'bindings:operate')
      if (call.isDryRun) {
        checkState(found, command)
        return { body: await plannedAnswer(found) }
      }
      return { body: commandAnswer(await submit(found, command, call)) }
    },
  })
}

const summaries: Readonly<Record<Lifecycle, string>> = {
  start: 'Starts a binding that was created or stopped',
  stop: 'Drains a binding, commits, and leaves its groups',
  pause: 'Stops fetching without leaving the groups',
  resume: 'Ends the pause of an operator',
}

function submit(
  { connector, ...found }: FoundBinding,
  command: Lifecycle,
  { operator, body }: Call,
): Promise<ControlAnswer> {
  const label = labelOf(found)
  if (command === 'stop') return connector.admin.stop(label, operator, stopOptions(body))
  return connector.admin[command](label, operator)
}

function stopOptions(given: unknown): { readonly deadlineMs?: number } {
  const deadlineMs: unknown = isPlainObject(given) ? given['deadlineMs'] : undefined
  return typeof deadlineMs === 'number' ? { deadlineMs } : {}
}

/** Returns the name that commands of the connector take for exactly this binding. */
export function labelOf({ view: { cluster, name } }: Pick<FoundBinding, 'view'>): string {
  return `${cluster}:${name}`
}

/** @throws InvalidContainerStateError if the state does not allow the command */
export function checkState({ view, key }: FoundBinding, command: Parameters<typeof checkCommand>[0]): void {
  const commanded = view.state === 'PAUSED' ? 'RUNNING' : view.state
  checkCommand(command, key, commanded, new Set(view.pausedBy))
}

/** Returns the instances that a command would reach, with their present states. */
export async function plannedAnswer({ connector, view }: FoundBinding): Promise<object> {
  const statuses = await connector.admin.statuses()
  const ours = statuses.filter(({ target }) => target.binding === view.name && target.cluster === view.cluster)
  return {
    dryRun: true,
    scope: connector.admin.scope,
    outcome: 'PLANNED',
    instances: ours.map(({ instance, state }) => ({ instance, outcome: 'PLANNED', state })),
  }
}

/** The properties of a binding are content: what is wrong in them is not a wrong request. */
async function asContent<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof OptionsError ? Object.assign(error, { isContent: true }) : error
  }
}
