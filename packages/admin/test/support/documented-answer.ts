import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { expect } from 'vitest'
import type { OpenApiDocument } from '../../src/server/openapi-document.ts'

interface Operation {
  readonly operationId: string
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>
  >
}

const compiled = new Map<string, ValidateFunction>()

/** Fails if an answer is not as the document describes it, or has a member that the document does not name. */
export function expectAsDocumented(
  document: OpenApiDocument,
  method: string,
  url: string,
  { status, body }: { readonly status: number; readonly body: unknown },
): void {
  if (status >= 400 && status !== 503)
    return expect(validator(document, 'Problem', { $ref: '#/components/schemas/Problem' })(body)).toBe(true)
  const operation = operationAt(document, method, url)
  if (operation === undefined || body === undefined || status === 503) return
  const schema = Object.values(operation.responses)[0]?.content?.['application/json']?.schema
  if (schema === undefined) return
  const validate = validator(document, operation.operationId, schema)
  const isValid = validate(body)
  expect({ operation: operation.operationId, errors: isValid ? [] : validate.errors }).toEqual({
    operation: operation.operationId,
    errors: [],
  })
}

function operationAt({ paths }: OpenApiDocument, method: string, url: string): Operation | undefined {
  const path = url.replace(/\?.*$/s, '').split('/')
  const found = Object.entries(paths)
    .filter(([template]) => {
      const parts = template.split('/')
      return parts.length === path.length && parts.every((part, index) => part.startsWith('{') || part === path[index])
    })
    .toSorted(([one], [other]) => one.split('{').length - other.split('{').length)[0]
  return found?.[1][method.toLowerCase()] as Operation | undefined
}

function validator(document: OpenApiDocument, name: string, schema: object): ValidateFunction {
  const known = compiled.get(name)
  if (known !== undefined) return known
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats.default(ajv)
  const strict = closed({ components: document.components, ...schema }) as object
  const validate = ajv.compile(strict)
  compiled.set(name, validate)
  return validate
}

/** Refuses members that are not described: the document must name all of them. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed)
  if (typeof value !== 'object' || value === null) return value
  const inner = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, closed(one)]))
  return inner['type'] === 'object' &&
    'properties' in inner &&
    !('additionalProperties' in inner) &&
    !('detail' in (inner['properties'] as object))
    ? { ...inner, additionalProperties: false }
    : inner
}
