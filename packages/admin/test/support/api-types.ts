/** The types of the console's client, written from the document of the API. */

import type { OpenApiDocument } from '../../src/server/openapi-document.ts'

type Json = Readonly<Record<string, unknown>>

interface Operation {
  readonly operationId: string
  readonly parameters: readonly {
    readonly name: string
    readonly in: string
    readonly required: boolean
    readonly schema: Json
  }[]
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Json } } }
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Json }>> }>
  >
  readonly 'x-operation'?: string
  readonly 'x-permission'?: string
}

/** Returns the module. */
export function apiTypes({ paths, components }: OpenApiDocument): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      path,
      method,
      operation: operation as unknown as Operation,
    })),
  )
  return [
    '// Written from the schemas of the API by packages/admin/test/console/api-types.test.ts. Do not edit.',
    '',
    '/** The schemas of answers and bodies. */',
    'export interface Schemas {',
    ...Object.entries(components.schemas).map(([name, schema]) => `  ${name}: ${typeOf(schema as Json)}`),
    '}',
    '',
    '/** The request and the answer of each route. */',
    'export interface Routes {',
    ...operations.flatMap(({ path, operation }) => [
      `  ${operation.operationId}: {`,
      `    params: ${paramsOf(path)}`,
      `    query: ${queryOf(operation)}`,
      `    body: ${bodyOf(operation)}`,
      `    answer: ${answerOf(operation)}`,
      '  }',
    ]),
    '}',
    '',
    '/** The method and path of each route, and the permission that it needs. */',
    'export const routes: Readonly<Record<keyof Routes, readonly [method: string, path: string, permission: string | null]>> = {',
    ...operations.map(
      ({ path, method, operation }) =>
        `  ${operation.operationId}: ['${method.toUpperCase()}', '${path}', ${quoted(operation['x-permission'])}],`,
    ),
    '}',
    '',
  ].join('\n')
}

function quoted(text: string | undefined): string {
  return text === undefined ? 'null' : `'${text}'`
}

function paramsOf(path: string): string {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  return names.length === 0 ? '{}' : `{ ${names.map((name) => `${name}: string`).join('; ')} }`
}

function queryOf({ parameters }: Operation): string {
  const fields = parameters
    .filter((one) => one.in === 'query')
    .map(({ name, schema }) => `${name}?: ${typeOf(schema)} | undefined`)
  return fields.length === 0 ? '{}' : `{ ${fields.join('; ')} }`
}

function bodyOf({ requestBody }: Operation): string {
  const schema = requestBody?.content['application/json'].schema
  return schema === undefined ? 'undefined' : typeOf(schema)
}

function answerOf({ responses }: Operation): string {
  const success = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1].content
  const schema = success?.['application/json']?.schema
  return schema === undefined ? 'string' : typeOf(schema)
}

function typeOf(schema: Json): string {
  const { $ref, anyOf, oneOf, type, enum: words } = schema
  if (typeof $ref === 'string') return `Schemas['${$ref.slice($ref.lastIndexOf('/') + 1)}']`
  const several = anyOf ?? oneOf
  if (Array.isArray(several)) {
    const types = several.map((one) => typeOf(one as Json))
    return types.includes('unknown') ? 'unknown' : types.join(' | ')
  }
  if ('const' in schema) return JSON.stringify(schema['const'])
  if (Array.isArray(words)) return words.map((word) => JSON.stringify(word)).join(' | ')
  if (Array.isArray(type)) return type.map((one) => typeOf({ ...schema, type: one as string })).join(' | ')
  if (type === 'array') return arrayOf(typeOf((schema['items'] ?? {}) as Json))
  if (type === 'object') return objectOf(schema)
  if (type === 'integer' || type === 'number') return 'number'
  return typeof type === 'string' ? type : 'unknown'
}

function arrayOf(item: string): string {
  return /^[\w[\]']+$/.test(item) ? `readonly ${item}[]` : `readonly (${item})[]`
}

function objectOf({ properties, additionalProperties, required = [] }: Json): string {
  if (properties === undefined) return `Readonly<Record<string, ${typeOf((additionalProperties ?? {}) as Json)}>>`
  const fields = Object.entries(properties as Readonly<Record<string, Json>>).map(([name, schema]) => {
    const isRequired = (required as readonly string[]).includes(name)
    return `readonly ${name}${isRequired ? '' : '?'}: ${typeOf(schema)}${isRequired ? '' : ' | undefined'}`
  })
  return `{ ${fields.join('; ')} }`
}
