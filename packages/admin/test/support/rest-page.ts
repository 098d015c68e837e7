/** The reference page of the REST API, written from its document. */

import { code, page, table } from '@waybill/test-support'
import type { OpenApiDocument } from '../../src/server/openapi-document.ts'

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly description?: string
  readonly schema: Readonly<Record<string, unknown>>
}

interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly parameters: readonly Parameter[]
  readonly requestBody?: {
    readonly content: { readonly 'application/json': { readonly schema: Readonly<Record<string, unknown>> } }
  }
  readonly responses: Readonly<Record<string, unknown>>
  readonly 'x-permission'?: string
  readonly 'x-public'?: boolean
  readonly 'x-destructive'?: boolean
  readonly 'x-operation'?: string
}

/** Returns the page. */
export function restPage({ paths }: OpenApiDocument): string {
  const rows = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      path,
      method: method.toUpperCase(),
      operation: operation as unknown as Operation,
    })),
  )
  const tags = [...new Set(rows.flatMap(({ operation }) => operation.tags))]
  return page([
    '# REST API',
    '',
    'The routes of [@waybill/admin](../../packages/admin/README.md), below the mount path of your host. The server sends the whole',
    'document, with the schemas of answers, at `/openapi.json`. This page is written from the same schemas that validate requests.',
    '',
    'Every change takes `Idempotency-Key`, a reason (`reason` in the body, or the header `Waybill-Reason`), and unless its row says',
    'otherwise `?dryRun=true`. Without a bearer token it needs the header `Waybill-CSRF: 1`. Failures are `application/problem+json`',
    'with a [code](errors.md).',
    ...tags.flatMap((tag) => [
      '',
      `## ${tag}`,
      '',
      ...table(
        ['route', 'does', 'permission', 'parameters', 'body'],
        rows
          .filter(({ operation }) => operation.tags.includes(tag))
          .map(({ path, method, operation }) => [
            code(`${method} ${path}`),
            `${operation.summary}${remarkOf(operation)}`,
            permissionOf(operation),
            parametersOf(operation),
            bodyOf(operation),
          ]),
      ),
    ]),
  ])
}

function remarkOf(operation: Operation): string {
  const isChange = operation['x-operation'] !== undefined
  const hasDryRun = operation.parameters.some(({ name }) => name === 'dryRun')
  return [
    ...(operation['x-destructive'] === true ? ['. Needs a reason'] : []),
    ...(isChange && !hasDryRun ? ['. No dry run'] : []),
  ].join('')
}

function permissionOf(operation: Operation): string {
  if (operation['x-public'] === true) return 'none'
  return operation['x-permission'] === undefined ? 'an identity' : code(operation['x-permission'])
}

function parametersOf({ parameters }: Operation): string {
  const shown = parameters.filter((one) => one.in === 'query' && one.name !== 'dryRun')
  return shown.map(({ name, required }) => `${code(name)}${required ? ' (required)' : ''}`).join(', ')
}

function bodyOf({ requestBody }: Operation): string {
  const schema = requestBody?.content['application/json'].schema
  const { properties = {}, required = [] } = (schema ?? {}) as { properties?: object; required?: readonly string[] }
  const names = Object.keys(properties).filter((name) => name !== 'reason')
  return names.map((name) => `${code(name)}${required.includes(name) ? ' (required)' : ''}`).join(', ')
}
