/** The HTTP interface: what all requests have in common. It opens and closes no resources. */

import type { Runtime } from '@waybill/core'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { WritesRejectedError } from '../../application/application-errors.ts'
import type { Caller } from '../../application/caller.ts'
import type { RateLimiter } from '../../application/port/rate-limiter.ts'
import { answerOf, type ErrorBody, errorBodyOf } from './error-answers.ts'
import { openApiDocument, type RegisteredRoute } from './openapi-document.ts'
import { addOperatorLogin } from './operator-login.ts'
import { addOrderRoutes, type OrderRouteParts, type OrderRouteSchema } from './order-routes.ts'
import { limitRate } from './rate-limit.ts'
import { callerOf } from './role-access.ts'
import type { Authenticate } from './token-authenticator.ts'
import { answerUnreadable } from './unreadable-requests.ts'

/** What the probes tell. */
export interface HealthParts {
  /** Whether the service takes requests; the body says why not. */
  readonly ready: () => { readonly isReady: boolean; readonly body: object }
  /** The page of metrics, as Prometheus reads it. */
  readonly metrics: () => Promise<string> | string
}

/** What the interface needs. */
export interface HttpParts extends OrderRouteParts, HealthParts {
  readonly authenticate: Authenticate
  readonly limiter: RateLimiter
  readonly newRequestId: () => string
  readonly runtime: Runtime
}

const largestBody = 256 * 1024
/** A client that sends its request more slowly than this only holds a connection. */
const requestTimeoutMs = 30_000

/** Creates the server. */
export function createHttpServer(parts: HttpParts): FastifyInstance {
  const { authenticate, limiter, newRequestId, runtime } = parts
  const { logger } = runtime
  const bodyOf = (code: string, message: string, requestId: string): ErrorBody =>
    errorBodyOf(code, message, requestId, runtime.clock.now())
  const callers = new WeakMap<object, Caller>()
  const routes: RegisteredRoute[] = []
  const app = fastify({
    bodyLimit: largestBody,
    requestTimeout: requestTimeoutMs,
    http: { connectionsCheckingInterval: 5_000 }, // By default Node looks for slow requests only every 30 s.
    requestIdHeader: false,
    genReqId: ({ headers }) => {
      const given = headers['x-request-id']
      return typeof given === 'string' && /^[\w.-]{1,128}$/.test(given) ? given : newRequestId()
    },
    // Unknown members are refused, never dropped in silence; and "2" is not 2.
    ajv: { customOptions: { removeAdditional: false, coerceTypes: false } },
    routerOptions: { maxParamLength: 64 },
    // Refused before any hook or handler runs: a path that cannot be decoded, and bytes that are not HTTP.
    frameworkErrors: (error, { id }, reply) => {
      const { status, code, message } = answerOf(error)
      const answer = reply as unknown as FastifyReply // Its type parameters are those of a route, and there is none.
      answer
        .code(status)
        .header('x-request-id', id)
        .send(bodyOf(code, message, id))
    },
    clientErrorHandler: (error, socket) =>
      answerUnreadable(error, socket, (code, message) => bodyOf(code, message, newRequestId())),
  })

  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    // Many clients send the header with each POST, also where there is no body.
    if (body === '') done(null, undefined)
    else void parseJson(request, body, done) // It answers through `done`.
  })
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
  })
  app.setErrorHandler((error, request, reply) => {
    const { status, code, message, retryAfter } = answerOf(error)
    if (status === 500) logger.error({ requestId: request.id, err: error }, 'Request failed')
    else if (status > 500 && !(error instanceof WritesRejectedError))
      logger.warn({ requestId: request.id, err: error }, 'Request not served')
    if (retryAfter !== undefined) reply.header('retry-after', String(retryAfter))
    if (status === 401) reply.header('www-authenticate', 'Bearer')
    return reply.code(status).send(bodyOf(code, message, request.id))
  })
  app.setNotFoundHandler((request, reply) =>
    reply.code(404).send(bodyOf('NOT_FOUND', 'There is no such path.', request.id)),
  )

  addProbes(app, parts)
  addOperatorLogin(app, authenticate)
  app.get('/openapi.json', async () => openApiDocument(routes))

  app.register(async (secured) => {
    secured.addHook('onRoute', ({ method, url, schema }) => {
      if (typeof method === 'string' && method !== 'HEAD')
        routes.push({ method, url, schema: schema as OrderRouteSchema })
    })
    secured.addHook('onResponse', async ({ method, routeOptions }, { statusCode, elapsedTime }) => {
      const labels = { method, route: routeOptions.url ?? '', status: String(statusCode) }
      runtime.metrics.histogram('order.http.duration.ms', labels, elapsedTime)
    })
    secured.addHook('onRequest', async (request, reply) => {
      reply.header('cache-control', 'no-store')
      const caller = callerOf(await authenticate(request.headers.authorization))
      callers.set(request, caller)
      await limitRate(limiter, caller.subject, request.routeOptions.url ?? '', request.ip)
    })
    // Queries arrive as text: numbers in them are read before they are checked.
    secured.addHook('preValidation', async (request) => readNumbers(request))
    addOrderRoutes(secured, parts, (request) => {
      const caller = callers.get(request)
      if (caller === undefined) throw new Error('The request was not authenticated.')
      return caller
    })
  })
  return app
}

function addProbes(app: FastifyInstance, { ready, metrics }: HealthParts): void {
  app.get('/livez', async () => ({ status: 'UP' }))
  app.get('/readyz', async (_request, reply) => {
    const { isReady, body } = ready()
    return reply.code(isReady ? 200 : 503).send(body)
  })
  app.get('/metrics', async (_request, reply) =>
    reply.type('text/plain; version=0.0.4; charset=utf-8').send(await metrics()),
  )
}

function readNumbers({ query }: FastifyRequest): void {
  const given = query as Record<string, unknown>
  for (const name of ['page', 'size']) {
    const text = given[name]
    if (typeof text === 'string' && /^\d{1,9}$/.test(text)) given[name] = Number(text)
  }
}
