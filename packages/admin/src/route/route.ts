import type { AdminPermission } from '../access/permission.ts'
import type { Fields, ReadFields, Schema } from '../schema/schema.ts'
import type { Answer, Call } from './call.ts'

/** The method of a route. HEAD is answered by GET. */
export type RouteMethod = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/**
 * The operators that a route answers.
 * - PUBLIC: without an identity.
 * - IDENTIFIED: with an identity, whatever it may do.
 * - A permission: everything (`ALL`), what the route filters itself (`SOME`), or the subject that it requires (`SUBJECT`).
 */
export type RouteAccess =
  | 'PUBLIC'
  | 'IDENTIFIED'
  | { readonly permission: AdminPermission; readonly of: 'ALL' | 'SOME' | 'SUBJECT' }

/** A change that a route makes. */
export interface RouteChange {
  /** The operation, as the audit log names it. */
  readonly operation: string
  /** Whether it always needs a reason, unless reasons are off. */
  readonly isDestructive: boolean
}

/** A route: its address, its access and its schemas. Requests are validated by what the document describes. */
export interface Route<Q = unknown, B = unknown> {
  /** The operation id of the document. */
  readonly id: string
  readonly method: RouteMethod
  /** Parameters are in braces: `/eventbus/bindings/{name}`. */
  readonly path: string
  readonly tag: string
  readonly summary: string
  readonly access: RouteAccess
  /** Undefined: the route takes no parameters but those of a change. */
  readonly query: Fields | undefined
  /** Keys of a body, or a schema of it; undefined: no body but the reason of a change. */
  readonly body: Fields | Schema | undefined
  readonly change: RouteChange | undefined
  /** Undefined: it makes no sense to check this change without making it. */
  readonly hasDryRun: boolean
  readonly maxBodyBytes: number
  readonly status: number
  readonly answer: Schema | undefined
  /** @defaultValue application/json */
  readonly produces: string
  /** Whether it ends by itself: a stream has no time limit. */
  readonly isStream: boolean
  readonly run: (call: Call<Q, B>) => Promise<Answer> | Answer
}

type Given<Q extends Fields, B> = Pick<Route, 'id' | 'method' | 'path' | 'tag' | 'summary' | 'access'> & {
  readonly query?: Q
  readonly body?: B
  readonly change?: RouteChange
  readonly hasDryRun?: boolean
  readonly maxBodyBytes?: number
  readonly status?: number
  readonly answer?: Schema
  readonly produces?: string
  readonly isStream?: boolean
  readonly run: (call: Call<ReadFields<Q>, BodyOf<B>>) => Promise<Answer> | Answer
}

type BodyOf<B> = B extends Schema<infer T> ? T : B extends Fields ? ReadFields<B> : undefined

/** Creates a route. */
export function route<const Q extends Fields = {}, const B extends Fields | Schema | undefined = undefined>(
  given: Given<Q, B>,
): Route {
  const { query, body, change, hasDryRun, maxBodyBytes, status, answer, produces, isStream, ...own } = given
  return {
    ...(own as unknown as Pick<Route, 'id' | 'method' | 'path' | 'tag' | 'summary' | 'access' | 'run'>),
    query,
    body,
    change,
    hasDryRun: hasDryRun ?? change !== undefined,
    maxBodyBytes: maxBodyBytes ?? 64 * 1024,
    status: status ?? 200,
    answer,
    produces: produces ?? 'application/json',
    isStream: isStream ?? false,
  }
}

/** Returns whether the body of a route is one schema instead of keys. */
export function isSchema(body: Fields | Schema): body is Schema {
  return typeof body['read'] === 'function'
}
