/** The OpenAPI document, from the schemas that check the requests. */

import type { OrderRouteSchema } from './order-routes.ts'

/** A route as Fastify registered it. */
export interface RegisteredRoute {
  readonly method: string
  readonly url: string
  readonly schema: OrderRouteSchema
}

interface ObjectSchema {
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, object>>
}

/** Returns the document of the routes. */
export function openApiDocument(routes: readonly RegisteredRoute[]): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const { method, url, schema } of routes) {
    const path = url.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [method.toLowerCase()]: operationOf(method, schema) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Orders', version: '1.0.0', description: 'The reference service of Waybill.' },
    security: [{ bearer: [] }],
    components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } } },
    paths,
  }
}

function operationOf(method: string, { summary, body, params, querystring, response }: OrderRouteSchema): object {
  const isCreation = method === 'POST' && params === undefined
  return {
    summary,
    parameters: [
      ...parametersOf('path', params as ObjectSchema | undefined),
      ...parametersOf('query', querystring as ObjectSchema | undefined),
      ...(isCreation ? [{ name: 'X-Idempotency-Key', in: 'header', schema: { type: 'string', maxLength: 128 } }] : []),
    ],
    ...(body === undefined ? {} : { requestBody: { required: true, content: jsonOf(body as object) } }),
    responses: Object.fromEntries(
      Object.entries(response).map(([status, schema]) => [
        status.toUpperCase(),
        { description: status.startsWith('2') ? summary : 'What went wrong', content: jsonOf(schema) },
      ]),
    ),
  }
}

function parametersOf(place: 'path' | 'query', schema: ObjectSchema | undefined): object[] {
  return Object.entries(schema?.properties ?? {}).map(([name, one]) => ({
    name,
    in: place,
    required: schema?.required?.includes(name) ?? false,
    schema: one,
  }))
}

function jsonOf(schema: object): object {
  return { 'application/json': { schema } }
}
