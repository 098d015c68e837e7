import { isSchema, type Route } from '../route/route.ts'
import { writeFields } from '../schema/composite-schemas.ts'
import type { JsonSchema, SchemaWriter } from '../schema/schema.ts'
import { bodyOf, queryOf } from './read-call.ts'

/** An OpenAPI 3.1 document. */
export type OpenApiDocument = {
  readonly openapi: '3.1.0'
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, JsonSchema>>>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> } & JsonSchema
} & JsonSchema

/** Describes the routes by the schemas that validate their requests. */
export function openApiDocument(routes: readonly Route[], version: string): OpenApiDocument {
  const schemas: Record<string, JsonSchema> = { Problem: problemSchema }
  const writer = (side: SchemaWriter['side']): SchemaWriter => ({
    side,
    name(name, write) {
      const own = side === 'INPUT' ? `${name}Input` : name
      if (!Object.hasOwn(schemas, own)) {
        // Taken first: a schema may contain itself.
        schemas[own] = {}
        schemas[own] = write(writer(side))
      }
      return { $ref: `#/components/schemas/${own}` }
    },
  })
  const paths: Record<string, Record<string, JsonSchema>> = {}
  for (const route of routes) {
    const path = (paths[route.path] ??= {})
    path[route.method.toLowerCase()] = operationOf(route, writer)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Waybill admin API',
      version,
      description:
        'Operates bindings, dead letters, operations and outboxes. 64-bit numbers are decimal texts. Answers may get more members: pass over unknown ones.',
    },
    paths,
    components: {
      schemas: Object.fromEntries(Object.entries(schemas).toSorted(([one], [other]) => (one < other ? -1 : 1))),
      responses: {
        Problem: {
          description: 'A failure, as RFC 9457 has it',
          content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
        },
      },
    },
  }
}

const problemSchema: JsonSchema = {
  type: 'object',
  required: ['type', 'title', 'status', 'code', 'detail', 'instance', 'requestId'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    code: { type: 'string', description: 'Never changes: match on it.' },
    detail: { type: 'string' },
    impact: { type: 'string', description: 'What happened to the data.' },
    hint: { type: 'string', description: 'What to do.' },
    instance: { type: 'string' },
    requestId: { type: 'string' },
    violations: {
      type: 'array',
      items: { type: 'object', properties: { path: { type: 'string' }, message: { type: 'string' } } },
    },
  },
}

type WriterOf = (side: SchemaWriter['side']) => SchemaWriter

function operationOf(route: Route, writerOf: WriterOf): JsonSchema {
  const { id, tag, summary, access, change, path, status, produces } = route
  const body = bodyOf(route)
  const permission = typeof access === 'string' ? undefined : access.permission
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(permission === undefined ? {} : { 'x-permission': permission }),
    ...(access === 'PUBLIC' ? { 'x-public': true } : {}),
    ...(change === undefined ? {} : { 'x-operation': change.operation, 'x-destructive': change.isDestructive }),
    parameters: [...pathParameters(path), ...queryParameters(route, writerOf('INPUT')), ...headerParameters(route)],
    ...(body === undefined ? {} : { requestBody: bodyJson(body, writerOf('INPUT')) }),
    responses: {
      [String(status)]: answerJson(route, writerOf('OUTPUT'), produces),
      default: { $ref: '#/components/responses/Problem' },
    },
  }
}

function pathParameters(path: string): readonly JsonSchema[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', minLength: 1 },
  }))
}

function queryParameters(route: Route, writer: SchemaWriter): readonly JsonSchema[] {
  return Object.entries(queryOf(route)).map(([name, schema]) => ({
    name,
    in: 'query',
    required: !schema.isOptional,
    ...(schema.about === undefined ? {} : { description: schema.about }),
    ...(schema.write(writer)['type'] === 'array' ? { style: 'form', explode: false } : {}),
    schema: schema.write(writer),
  }))
}

function headerParameters({ change }: Route): readonly JsonSchema[] {
  if (change === undefined) return []
  return [
    {
      name: 'Idempotency-Key',
      in: 'header',
      required: false,
      schema: { type: 'string', minLength: 1, maxLength: 128 },
    },
    {
      name: 'Waybill-Reason',
      in: 'header',
      required: false,
      description: 'Percent-encoded UTF-8.',
      schema: { type: 'string', minLength: 1, maxLength: 500 },
    },
    {
      name: 'Waybill-CSRF',
      in: 'header',
      required: false,
      description: 'Required without a bearer token.',
      schema: { type: 'string', const: '1' },
    },
  ]
}

function bodyJson(body: NonNullable<ReturnType<typeof bodyOf>>, writer: SchemaWriter): JsonSchema {
  const schema = isSchema(body) ? body.write(writer) : writeFields(body, writer)
  const isRequired = isSchema(body) ? !body.isOptional : Object.values(body).some((field) => !field.isOptional)
  return { required: isRequired, content: { 'application/json': { schema } } }
}

function answerJson({ answer, summary }: Route, writer: SchemaWriter, produces: string): JsonSchema {
  const schema: JsonSchema = answer === undefined ? { type: 'string' } : answer.write(writer)
  return { description: summary, content: { [produces.split(';', 1)[0] ?? produces]: { schema } } }
}
