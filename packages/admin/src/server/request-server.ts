/**
 * Answers requests. Everything that routes have in common is decided here, in this order: limits of the URL and the headers,
 * the route, the identity, forgery, rate, permission, media types, query, body, reason, idempotency key, deadline.
 */

import { isWaybillError, OperationForbiddenError, type OperatorIdentity } from '@waybill/core'
import type { AuditedOperations, UlidGenerator } from '@waybill/core/internal'
import { isPlainObject } from '@waybill/core/option'
import { type AdminIdentity, Grants } from '../access/access.ts'
import { isLocalRequest } from '../access/loopback.ts'
import type { AdminRequest, RequestBody } from '../http/admin-request.ts'
import { type AdminResponse, securityHeaders } from '../http/admin-response.ts'
import { accepts } from '../http/media-type.ts'
import { writeJson } from '../json/write-json.ts'
import { refuseForeignPage, refuseForgery } from '../limit/forgery.ts'
import { IdempotentAnswers, readIdempotencyKey } from '../limit/idempotent-answers.ts'
import { changeRate, RateLimit, readRate } from '../limit/rate-limit.ts'
import { readBody } from '../limit/request-body.ts'
import { checkHeaders, readUrl } from '../limit/request-url.ts'
import {
  AdminBusyError,
  AdminNotFoundError,
  AdminRequestError,
  AdminUnidentifiedError,
  forbidden,
} from '../problem/admin-errors.ts'
import { problemOf, problemResponse } from '../problem/problem.ts'
import type { Answer, Call } from '../route/call.ts'
import type { Route } from '../route/route.ts'
import type { RouteMatch, RouteTable } from '../route/route-table.ts'
import type { ResolvedAdminOptions } from '../service/admin-options.ts'
import { readQuery, readReason, readRouteBody } from './read-call.ts'

const requestLimitMs = 30_000

/** The name in the audit log of an operator on this machine, where the host knows no identities. */
export const localOperator = 'local operator'

/** Answers requests by the routes of a table. */
export class RequestServer {
  readonly #options: ResolvedAdminOptions
  readonly #audited: Pick<AuditedOperations<string>, 'refuse'>
  readonly #table: RouteTable
  readonly #nextId: UlidGenerator
  readonly #answers: IdempotentAnswers
  readonly #reads: RateLimit
  readonly #changes: RateLimit

  constructor(
    options: ResolvedAdminOptions,
    audited: Pick<AuditedOperations<string>, 'refuse'>,
    table: RouteTable,
    nextId: UlidGenerator,
  ) {
    this.#options = options
    this.#audited = audited
    this.#table = table
    this.#nextId = nextId
    this.#answers = new IdempotentAnswers(options.runtime.clock)
    this.#reads = new RateLimit(options.runtime.clock, readRate)
    this.#changes = new RateLimit(options.runtime.clock, changeRate)
  }

  /** Answers a request. Never rejects: a failure is an answer, too. */
  async handle(request: AdminRequest, body: RequestBody, leave: AbortSignal): Promise<AdminResponse> {
    const requestId = this.#nextId()
    try {
      const response = await this.#answer(request, body, requestId, leave)
      return { ...response, headers: { ...securityHeaders, 'waybill-request-id': requestId, ...response.headers } }
    } catch (thrown) {
      return this.#problem(thrown, request, requestId)
    }
  }

  #problem(thrown: unknown, request: AdminRequest, requestId: string): AdminResponse {
    const problem = problemOf(thrown, { instance: request.url.replace(/[?#].*$/s, '').slice(0, 500), requestId })
    if (problem.status >= 500) {
      const code = isWaybillError(thrown) ? thrown.code : undefined
      this.#options.runtime.logger.error({ err: thrown, requestId, code }, 'Admin request failed')
    }
    const response = problemResponse(problem, writeJson)
    return { ...response, headers: { ...securityHeaders, 'waybill-request-id': requestId, ...response.headers } }
  }

  async #answer(
    request: AdminRequest,
    body: RequestBody,
    requestId: string,
    leave: AbortSignal,
  ): Promise<AdminResponse> {
    checkHeaders(request.headers)
    const url = readUrl(request.url)
    const { route, params } = this.#match(request, url.segments)
    const identity = route.access === 'PUBLIC' ? publicReader : await this.#identify(request)
    const isChange = route.change !== undefined
    if (isChange) refuseForgery(request)
    if (route.access !== 'PUBLIC') {
      refuseForeignPage(request)
      ;(isChange ? this.#changes : this.#reads).take(identity.by)
    }
    const refused = { identity, target: Object.values(params)[0], isDryRun: url.query['dryRun'] === 'true' }
    const grants = await this.#noting(request, route, refused, () => this.#grants(identity, request, route))
    if (!accepts(request.headers['accept'], route.produces) && !accepts(request.headers['accept'], 'application/json'))
      throw new AdminRequestError(`This route answers ${route.produces}.`, { status: 406 })
    const query = readQuery(route, url.query)
    const sent =
      request.method === 'GET' || request.method === 'HEAD'
        ? undefined
        : await readBody(request, body, route.maxBodyBytes)
    const read = readRouteBody(route, sent?.value)
    const isDryRun = isChange && query['dryRun'] === true
    // A dry run changes nothing, and nothing of it goes to the audit log.
    const required = isDryRun ? 'NEVER' : this.#options.requireReason
    const reason = readReason(route, read, request.headers['waybill-reason'], required)
    const operator: OperatorIdentity = {
      by: identity.by,
      ...(reason === undefined ? {} : { reason }),
      via: 'REST',
      address: request.remoteAddress,
    }
    const key = isChange && !isDryRun ? readIdempotencyKey(request.headers['idempotency-key']) : undefined
    const run = async (): Promise<AdminResponse> => {
      const call: Call = {
        request,
        requestId,
        identity,
        grants,
        operator,
        params,
        query,
        body: read,
        isDryRun,
        signal: leave,
      }
      try {
        const target = params['name'] ?? params['outbox'] ?? subjectIn(read) ?? refused.target
        return await this.#noting(request, route, { ...refused, target, reason }, async () =>
          responseOf(route, await route.run(call)),
        )
      } catch (thrown) {
        if (key === undefined) throw thrown
        return this.#problem(thrown, request, requestId)
      }
    }
    // A stream without a reader would keep its place.
    if (route.isStream && request.method === 'HEAD') return headOf(route)
    const keyed = { by: identity.by, key: key ?? '', method: request.method, url: request.url, body: sent?.bytes }
    const work = key === undefined ? run() : this.#answers.answer(keyed, run)
    const response = await (route.isStream ? work : this.#withinLimit(work))
    return request.method === 'HEAD' ? { ...response, body: '' } : response
  }

  /** Runs a part of a change. If the operator lacks a permission, the audit log gets an entry: the engine never sees it. */
  async #noting<T>(
    request: AdminRequest,
    { change }: Route,
    { identity, target = '*', reason, isDryRun }: Refused,
    work: () => Promise<T>,
  ): Promise<T> {
    try {
      return await work()
    } catch (error) {
      // An error without the permission of a route comes from the engine, which has written its own entry.
      if (change !== undefined && !isDryRun && error instanceof OperationForbiddenError && 'permission' in error) {
        const operator = { by: identity.by, reason, via: 'REST', address: request.remoteAddress }
        const path = request.url.replace(/[?#].*$/s, '').slice(0, 500)
        await this.#audited.refuse({
          operation: change.operation,
          target: target.slice(0, 500),
          request: { method: request.method, path, permission: error.permission },
          operator: operator as OperatorIdentity,
        })
      }
      throw error
    }
  }

  #match(request: AdminRequest, segments: readonly string[]): RouteMatch {
    const { matches } = this.#table.find(segments)
    if (matches.size === 0) throw new AdminNotFoundError('There is nothing at this path.')
    const method = request.method === 'HEAD' ? 'GET' : request.method
    const found = matches.get(method)
    if (found !== undefined) return found
    const allow = [...matches.keys()].flatMap((one) => (one === 'GET' ? ['GET', 'HEAD'] : [one]))
    throw new AdminRequestError(`This path answers ${allow.join(', ')}.`, { status: 405, allow })
  }

  async #identify(request: AdminRequest): Promise<AdminIdentity> {
    const { identify } = this.#options
    if (identify === undefined) {
      if (isLocalRequest(request)) return { by: localOperator }
      throw new AdminUnidentifiedError(
        'Without an identity only requests from this machine are answered.',
        'Pass identify: (request) => ({ by: … }) to createAdmin.',
      )
    }
    const identity = await identify(request)
    if (typeof identity?.by === 'string' && identity.by.trim() !== '') return identity
    throw new AdminUnidentifiedError('The request has no identity that this server knows.', 'Log in, or send a token.')
  }

  async #grants(identity: AdminIdentity, request: AdminRequest, { access }: Route): Promise<Grants> {
    if (access === 'PUBLIC') return new Grants('FORBIDDEN')
    const { authorize, identify } = this.#options
    const standard = identify === undefined ? 'ALL' : 'READ_ONLY'
    const grants = new Grants(authorize === undefined ? standard : await authorize(identity, request))
    if (access === 'IDENTIFIED') return grants
    const { permission, of } = access
    if (of === 'ALL' ? grants.allows(permission, undefined) : grants.has(permission)) return grants
    throw forbidden(identity.by, permission, '*')
  }

  async #withinLimit(work: Promise<AdminResponse>): Promise<AdminResponse> {
    const { timers } = this.#options.runtime
    const late = Promise.withResolvers<never>()
    const timer = timers.schedule(requestLimitMs, () => {
      const impact = 'A change that was begun goes on. Read the state before you repeat it.'
      late.reject(new AdminBusyError(`The request took longer than ${requestLimitMs / 1_000} s.`, 503, 5, { impact }))
    })
    try {
      return await Promise.race([work, late.promise])
    } finally {
      timer[Symbol.dispose]()
    }
  }
}

/** A change that an operator may not make. */
interface Refused {
  readonly identity: AdminIdentity
  readonly target: string | undefined
  readonly reason?: string | undefined
  readonly isDryRun: boolean
}

/** Returns what a body names as the subject of its change. */
function subjectIn(body: unknown): string | undefined {
  if (!isPlainObject(body)) return undefined
  const found = [body['binding'], body['outbox'], body['projection'], body['name']].find(
    (one) => typeof one === 'string',
  )
  return typeof found === 'string' ? found : undefined
}

function headOf({ status, produces }: Route): AdminResponse {
  return { status, headers: { 'content-type': produces }, body: '' }
}

const publicReader: AdminIdentity = { by: 'public' }

function responseOf(route: Route, { status = route.status, headers = {}, body, raw }: Answer): AdminResponse {
  if (raw !== undefined) return { status, headers: { 'content-type': route.produces, ...headers }, body: raw }
  const text = body === undefined ? '' : writeJson(body)
  return {
    status,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    body: text,
  }
}
