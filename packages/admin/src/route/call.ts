import type { OperatorIdentity } from '@waybill/core'
import type { AdminIdentity, Grants } from '../access/access.ts'
import type { AdminPermission } from '../access/permission.ts'
import type { AdminRequest } from '../http/admin-request.ts'
import { forbidden } from '../problem/admin-errors.ts'

/** A request after everything that routes have in common was checked. */
export interface Call<Q = unknown, B = unknown> {
  readonly request: AdminRequest
  readonly requestId: string
  readonly identity: AdminIdentity
  readonly grants: Grants
  /** The identity and the reason, as commands take them. */
  readonly operator: OperatorIdentity
  /** Decoded segments of the path. */
  readonly params: Readonly<Record<string, string>>
  readonly query: Q
  readonly body: B
  /** Whether the change is only to be checked. */
  readonly isDryRun: boolean
  /** Aborts when the request takes too long or the reader of a stream leaves. */
  readonly signal: AbortSignal
}

/** The result of a route. */
export interface Answer {
  /** @defaultValue that of the route */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Written as JSON. */
  readonly body?: unknown
  /** Sent as it is, with its media type in the headers. */
  readonly raw?: string | Uint8Array | AsyncIterable<string>
}

/** Requires a permission for one subject. @throws OperationForbiddenError */
export function requirePermission(
  { grants, identity }: Pick<Call, 'grants' | 'identity'>,
  permission: AdminPermission,
  subject: string | undefined,
): void {
  if (!grants.allows(permission, subject)) throw forbidden(identity.by, permission, subject ?? '*')
}
