import { OptionsError } from '@waybill/core'
import {
  afterWish,
  isFinal,
  type OperationQuery,
  OperationStateError,
  type StoredOperation,
} from '@waybill/core/internal'
import { readCursor, readPosition, writeCursor } from '../json/cursor.ts'
import { readIdempotencyKey } from '../limit/idempotent-answers.ts'
import { AdminNotFoundError, AdminRequestError, ReasonRequiredError } from '../problem/admin-errors.ts'
import { type Answer, type Call, requirePermission } from '../route/call.ts'
import { type Route, route } from '../route/route.ts'
import { list } from '../schema/composite-schemas.ts'
import { about, optional } from '../schema/schema.ts'
import { number, oneOf, text } from '../schema/value-schemas.ts'
import type { AdminServices } from '../service/admin-services.ts'
import { findBinding } from '../service/find-binding.ts'
import { pageFields, pageOf } from './answer-schemas.ts'
import { labelOf } from './command-routes.ts'
import {
  operationFields,
  operationItemSchema,
  operationSchema,
  operationStates,
  operationTypes,
} from './operation-schemas.ts'
import { itemView, operationView, subjectOf } from './operation-view.ts'
import {
  checkOperationBody,
  isDestructive,
  type OperationBody,
  type OperationSubject,
  operationRequest,
  permissionOf,
} from './read-operation-body.ts'

const tag = 'Operations'
const wishes = {
  start: { wish: 'START', summary: 'Starts an operation that was planned' },
  pause: { wish: 'PAUSE', summary: 'Pauses an operation after its batch' },
  resume: { wish: 'RESUME', summary: 'Continues a paused operation, also one that its abort rule paused' },
  cancel: { wish: 'CANCEL', summary: 'Ends an operation after its batch: what was sent stays sent' },
} as const

/** Routes of operations. */
export function operationRoutes(services: AdminServices): readonly Route[] {
  return [
    createRoute(services),
    ...readRoutes(services),
    ...Object.keys(wishes).map((action) => wishRoute(services, action as keyof typeof wishes)),
    rateRoute(services),
  ]
}

function createRoute(services: AdminServices): Route {
  const { operations, options } = services
  return route({
    id: 'createOperation',
    method: 'POST',
    path: '/eventbus/operations',
    tag,
    summary:
      'Creates an operation and runs it, with the permission of its type; a dry run freezes and counts its selection, and keeps the plan for a day',
    access: 'IDENTIFIED',
    body: operationFields,
    change: { operation: 'CREATE_OPERATION', isDestructive: false },
    status: 202,
    answer: operationSchema,
    async run(call) {
      const { body } = call
      const subject = subjectFor(services, call, body)
      checkOperationBody(body)
      const isReasonRequired = options.requireReason === 'DESTRUCTIVE' && isDestructive(body.type) && !call.isDryRun
      if (isReasonRequired && call.operator.reason === undefined) throw new ReasonRequiredError(body.type)
      if (body.type === 'OUTBOX_PURGE' && !call.isDryRun) await requireConfirmed(services, call, body)
      const key = readIdempotencyKey(call.request.headers['idempotency-key'])
      const created = await operations.create(
        operationRequest(body, subject, options.runtime.clock.now()),
        call.operator,
        { dryRun: call.isDryRun, ...(key === undefined ? {} : { idempotencyKey: key }) },
      )
      return {
        status: created.state === 'PLANNED' ? 201 : 202,
        headers: { location: `/eventbus/operations/${created.id}` },
        body: viewOf(services, call, created),
      }
    },
  })
}

function readRoutes(services: AdminServices): readonly Route[] {
  const { operations } = services
  return [
    route({
      id: 'listOperations',
      method: 'GET',
      path: '/eventbus/operations',
      tag,
      summary: 'Lists operations, newest first',
      access: { permission: 'operations:read', of: 'SOME' },
      query: {
        state: optional(about('Separated by commas.', list(oneOf(operationStates), { min: 1, max: 6 }))),
        type: optional(about('Separated by commas.', list(oneOf(operationTypes), { min: 1, max: 9 }))),
        by: optional(text({ max: 500 })),
        binding: optional(text({ max: 500 })),
        outbox: optional(text({ max: 200 })),
        ...pageFields,
      },
      answer: pageOf(operationSchema),
      async run(call) {
        const { state, type, by, binding, outbox, limit, cursor } = call.query
        if (binding !== undefined && outbox !== undefined)
          throw new AdminRequestError('An operation acts on a binding or on an outbox: give one of them.')
        const target = binding === undefined ? outbox : bindingTarget(services, binding)
        const query: OperationQuery = { states: state, types: type, by, target }
        return { body: await visiblePage(services, call, query, { limit, cursor }) }
      },
    }),
    route({
      id: 'getOperation',
      method: 'GET',
      path: '/eventbus/operations/{id}',
      tag,
      summary: 'Shows an operation with its plan, progress and outcomes',
      access: { permission: 'operations:read', of: 'SUBJECT' },
      answer: operationSchema,
      run: async (call) => ({ body: viewOf(services, call, await findOperation(services, call)) }),
    }),
    route({
      id: 'listOperationItems',
      method: 'GET',
      path: '/eventbus/operations/{id}/items',
      tag,
      summary: 'Lists records that were refused, failed again, or may have been sent twice',
      access: { permission: 'operations:read', of: 'SUBJECT' },
      query: { outcome: optional(oneOf(['REFUSED', 'FAILED_AGAIN', 'MAY_REPEAT'])), ...pageFields },
      answer: operationItemSchema,
      async run(call) {
        const { id } = await findOperation(services, call)
        const { outcome, limit, cursor } = call.query
        const filter = { id, outcome }
        const page = await operations.items(id, outcome, { limit, cursor: readPosition(cursor, filter, /^\d{1,9}$/) })
        const next = page.next === null ? null : writeCursor(page.next, filter)
        return { body: { items: page.items.map(itemView), next } }
      },
    }),
  ]
}

function wishRoute(services: AdminServices, action: keyof typeof wishes): Route {
  const { wish, summary } = wishes[action]
  return route({
    id: `${action}Operation`,
    method: 'POST',
    path: `/eventbus/operations/{id}/${action}`,
    tag,
    summary: `${summary}. One's own, or with operations:control`,
    access: 'IDENTIFIED',
    body: {},
    change: { operation: `${wish}_OPERATION`, isDestructive: false },
    answer: operationSchema,
    async run(call): Promise<Answer> {
      const known = await ownOperation(services, call)
      if (wish === 'START') requireType(call, known)
      if (call.isDryRun) {
        afterWish(known, wish, known.runner !== undefined)
        return { body: viewOf(services, call, known) }
      }
      const changed = await services.operations.wish(known.id, wish, call.operator)
      return { body: viewOf(services, call, changed ?? known) }
    },
  })
}

function rateRoute(services: AdminServices): Route {
  return route({
    id: 'changeOperation',
    method: 'PATCH',
    path: '/eventbus/operations/{id}',
    tag,
    summary: "Changes the records per second. One's own, or with operations:control",
    access: 'IDENTIFIED',
    body: { rate: number({ min: 0.1, max: 10_000 }) },
    change: { operation: 'CHANGE_OPERATION', isDestructive: false },
    answer: operationSchema,
    async run(call) {
      const known = await ownOperation(services, call)
      const { rate } = call.body
      if (call.isDryRun) {
        if (isFinal(known.state))
          throw new OperationStateError(known.id, 'change', known.state, ['PLANNED', 'RUNNING', 'PAUSED'])
        return { body: viewOf(services, call, { ...known, rate }) }
      }
      const changed = await services.operations.setRate(known.id, rate, call.operator)
      return { body: viewOf(services, call, changed ?? known) }
    },
  })
}

/** Finds what an operation is to act on, with the permission of its type. @throws OperationForbiddenError */
function subjectFor({ connector, options }: AdminServices, call: Call, body: OperationBody): OperationSubject {
  const permission = permissionOf[body.type]
  if (body.type === 'OUTBOX_REPLAY' || body.type === 'OUTBOX_PURGE') {
    const { outbox = '' } = body
    requirePermission(call, permission, outbox)
    if (outbox !== '' && !Object.hasOwn(options.outboxes, outbox))
      throw new AdminNotFoundError(`There is no outbox '${outbox}'.`)
    return { label: outbox, cluster: undefined }
  }
  if (body.type === 'PROJECTION_REBUILD') {
    const { projection = '' } = body
    requirePermission(call, permission, projection)
    if (projection !== '' && !Object.hasOwn(options.projections, projection))
      throw new AdminNotFoundError(`There is no projection '${projection}'.`)
    return { label: projection, cluster: undefined }
  }
  const { binding, filter } = body
  if (binding === undefined) {
    if (!call.grants.has(permission)) requirePermission(call, permission, undefined)
    return { label: '', cluster: undefined }
  }
  const found = findBinding(connector, call, binding, permission)
  // Counts would answer questions about keys and messages that the operator may not read.
  if (filter?.key !== undefined || filter?.q !== undefined) requirePermission(call, 'payloads:read', found.key)
  return { label: labelOf(found), cluster: found.view.cluster }
}

/** A purge deletes the only copies of events: it takes the number that a dry run counted. @throws OptionsError, AdminRequestError */
async function requireConfirmed({ options }: AdminServices, call: Call, body: OperationBody): Promise<void> {
  const { outbox = '', eventType, aggregateType, olderThan = 0, confirm } = body
  if (confirm === undefined)
    throw new OptionsError('The body', [
      { path: 'confirm', problem: 'is required by OUTBOX_PURGE: `plan.matched` of its dry run' },
    ])
  const diedUntil = options.runtime.clock.now() - olderThan
  const matched = await options.outboxes[outbox]?.deadEvents.count(
    { eventType, aggregateType, diedUntil },
    call.operator,
  )
  if (BigInt(matched ?? 0) === confirm) return
  throw new AdminRequestError(`The purge would delete ${matched} events, and the request confirms ${confirm}.`, {
    reason: 'CONFIRM_MISMATCH',
    hint: 'Look at the dry run again.',
  })
}

/** The plan of another operator may be started only by an operator who could have created it. */
function requireType(call: Call, operation: StoredOperation): void {
  const permissions: Readonly<Record<string, (typeof permissionOf)[keyof typeof permissionOf]>> = permissionOf
  const permission = permissions[operation.type]
  if (permission !== undefined) requirePermission(call, permission, subjectOf(operation).key)
}

/** @throws AdminNotFoundError, OperationForbiddenError */
async function findOperation(services: AdminServices, call: Call): Promise<StoredOperation> {
  const operation = await readOperation(services, call)
  requirePermission(call, 'operations:read', subjectOf(operation).key)
  return operation
}

/** Finds an operation that the operator created, or may control. @throws AdminNotFoundError, OperationForbiddenError */
async function ownOperation(services: AdminServices, call: Call): Promise<StoredOperation> {
  const { grants, identity } = call
  // Without any permission for operations, an id that exists must look like one that does not.
  if (!grants.has('operations:control') && !grants.has('operations:read')) {
    const own = await services.operations.get(idOf(call))
    if (own?.by !== identity.by) requirePermission(call, 'operations:control', undefined)
  }
  const operation = await readOperation(services, call)
  if (operation.by !== identity.by) requirePermission(call, 'operations:control', subjectOf(operation).key)
  return operation
}

async function readOperation({ operations }: AdminServices, call: Call): Promise<StoredOperation> {
  const operation = await operations.get(idOf(call))
  if (operation === undefined) throw new AdminNotFoundError('There is no such operation.')
  return operation
}

/** @throws AdminNotFoundError for a text that is no id, so that no store sees it */
function idOf({ params }: Call): string {
  const { id = '' } = params
  if (!/^op_[0-9A-HJKMNP-TV-Z]{26}$/.test(id)) throw new AdminNotFoundError('There is no such operation.')
  return id
}

function viewOf({ operations }: AdminServices, { grants }: Pick<Call, 'grants'>, operation: StoredOperation): object {
  const showsPayloads = grants.allows('payloads:read', subjectOf(operation).key)
  return operationView(operation, { isDurable: operations.isDurable, showsPayloads })
}

/** Reads until a page is full of operations that the operator may see. */
async function visiblePage(
  services: AdminServices,
  call: Call,
  query: OperationQuery,
  { limit, cursor }: { readonly limit: number; readonly cursor: string | undefined },
): Promise<object> {
  const items: StoredOperation[] = []
  let next = readCursor(cursor, query)
  do {
    // No more than the page still takes, so that its cursor continues after what is shown.
    const page = await services.operations.list(query, { limit: limit - items.length, cursor: next })
    items.push(...page.items.filter((one) => call.grants.allows('operations:read', subjectOf(one).key)))
    next = page.next ?? undefined
  } while (next !== undefined && items.length < limit)
  return {
    items: items.map((one) => viewOf(services, call, one)),
    next: next === undefined ? null : writeCursor(next, query),
  }
}

/** Returns how operations name a binding, also one that this process does not have any more. */
function bindingTarget({ connector }: AdminServices, name: string): string {
  const views = connector?.listBindings() ?? []
  const found =
    views.find((one) => `${one.cluster}:${one.name}` === name) ??
    views.find((one) => one.name === name && one.cluster === 'default') ??
    views.find((one) => one.name === name)
  if (found !== undefined) return `${found.cluster}:${found.name}`
  return name.includes(':') ? name : `default:${name}`
}
