import type { IncomingMessage, ServerResponse } from 'node:http'
import { createUlidGenerator } from '@waybill/core'
import type { AdminRequest, RequestBody } from '../http/admin-request.ts'
import type { AdminResponse } from '../http/admin-response.ts'
import { auditRoutes } from '../resource/audit-routes.ts'
import { bindingRoutes } from '../resource/binding-routes.ts'
import { clusterRoutes } from '../resource/cluster-routes.ts'
import { commandRoutes } from '../resource/command-routes.ts'
import { dltRoutes } from '../resource/dlt-routes.ts'
import { flowRoutes } from '../resource/flow-routes.ts'
import { operationRoutes } from '../resource/operation-routes.ts'
import { outboxRoutes } from '../resource/outbox-routes.ts'
import { positionRoutes } from '../resource/position-routes.ts'
import { projectionRoutes } from '../resource/projection-routes.ts'
import { schemaRoutes } from '../resource/schema-routes.ts'
import { systemRoutes } from '../resource/system-routes.ts'
import { topologyRoutes } from '../resource/topology-routes.ts'
import { type Route, route } from '../route/route.ts'
import { RouteTable } from '../route/route-table.ts'
import { anyJson } from '../schema/value-schemas.ts'
import { type OpenApiDocument, openApiDocument } from '../server/openapi-document.ts'
import { RequestServer } from '../server/request-server.ts'
import { type AdminOptions, type ResolvedAdminOptions, resolveAdminOptions } from '../service/admin-options.ts'
import { type AdminServices, createServices } from '../service/admin-services.ts'
import { StreamHub } from '../stream/stream-hub.ts'
import { streamRoute } from '../stream/stream-route.ts'
import { streamSources } from '../stream/stream-sources.ts'
import { editRoutes } from '../triage/edit-route.ts'
import { groupRoutes } from '../triage/group-routes.ts'
import { letterRoutes } from '../triage/letter-routes.ts'
import { scanRoutes } from '../triage/scan-route.ts'
import { readConsoleFiles } from './console-files.ts'
import { ConsoleHandler } from './console-handler.ts'
import { type FastifyAdminPlugin, fastifyPlugin } from './fastify-plugin.ts'
import { type FetchOptions, fetchWith, type HonoContext, peerOf } from './fetch-handler.ts'
import { type NodeListener, nodeListener } from './node-listener.ts'

/** The version of the API in its document. */
const version = '0.1.0'

/** The admin API and the console, to be mounted in a host. Close it with the host: it stops following dead letters and running operations. */
export interface Admin extends AsyncDisposable {
  /** For node:http, and below a path in Express and Nest: `app.use('/ops', admin.listener)`, before body parsers. */
  readonly listener: (request: IncomingMessage, response: ServerResponse) => void
  /** For Fastify, and Nest on Fastify: `app.register(admin.fastify, { prefix: '/ops' })`. */
  readonly fastify: FastifyAdminPlugin
  /** For Hono on Node: `app.all('/ops/*', admin.hono('/ops'))`. */
  hono(prefix?: string): (context: HonoContext) => Promise<Response>
  /** For other hosts of Web requests. */
  fetch(request: Request, options?: FetchOptions): Promise<Response>
  /** For all others: answers a request. Never rejects. */
  handle(request: AdminRequest, body?: RequestBody, leave?: AbortSignal): Promise<AdminResponse>
  /** Returns the document that is served at `/openapi.json`. */
  openApi(): OpenApiDocument
  close(): Promise<void>
}

/**
 * Creates the admin API.
 * @throws OptionsError with every violation
 */
export function createAdmin(options: AdminOptions): Admin {
  const resolved = resolveAdminOptions(options)
  const services = createServices(resolved)
  const hub = new StreamHub(resolved.runtime, streamSources(services))
  const routes = [...routesOf(services), streamRoute(hub), documentRoute(() => document)]
  const document = openApiDocument(routes, version)
  const table = new RouteTable(routes)
  const server = new RequestServer(resolved, services.audited, table, createUlidGenerator(resolved.runtime))
  const pages = resolved.console ? consoleOf(table, resolved) : undefined
  const closing = new AbortController()
  const handle = async (request: AdminRequest, body: RequestBody, leave: AbortSignal): Promise<AdminResponse> =>
    (await pages?.answer(request)) ?? server.handle(request, body, AbortSignal.any([leave, closing.signal]))
  const onFailure = (err: unknown): void => resolved.runtime.logger.error({ err }, 'Admin answer cut off')
  const listener: NodeListener = nodeListener(handle, onFailure)
  const close = async (): Promise<void> => {
    hub.close()
    closing.abort()
    await services.close()
  }
  return {
    listener,
    fastify: fastifyPlugin(listener),
    hono: (prefix) => (context) => fetchWith(handle, context.req.raw, { remoteAddress: peerOf(context), prefix }),
    fetch: (request, given = {}) => fetchWith(handle, request, given),
    handle: (request, body, leave = new AbortController().signal) => handle(request, body, leave),
    openApi: () => document,
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Returns every route, in the order of the document. */
function routesOf(services: AdminServices): readonly Route[] {
  return [
    ...bindingRoutes(services),
    ...flowRoutes(services),
    ...commandRoutes(services),
    ...positionRoutes(services),
    ...dltRoutes(services),
    ...operationRoutes(services),
    ...outboxRoutes(services),
    ...projectionRoutes(services),
    ...topologyRoutes(services),
    ...clusterRoutes(services),
    ...schemaRoutes(services),
    ...auditRoutes(services),
    ...groupRoutes(services),
    ...letterRoutes(services),
    ...scanRoutes(services),
    ...editRoutes(services),
    ...systemRoutes(services),
  ]
}

function consoleOf(table: RouteTable, { runtime }: Pick<ResolvedAdminOptions, 'runtime'>): ConsoleHandler {
  const isRoute = (path: string): boolean => table.find(path.split('/').slice(1)).matches.size > 0
  return new ConsoleHandler(() => readConsoleFiles(import.meta.dirname), isRoute, runtime.logger)
}

function documentRoute(documentOf: () => OpenApiDocument): Route {
  return route({
    id: 'getOpenApi',
    method: 'GET',
    path: '/openapi.json',
    tag: 'System',
    summary: 'Returns this document',
    access: 'IDENTIFIED',
    answer: anyJson,
    run: () => ({ body: documentOf() }),
  })
}
