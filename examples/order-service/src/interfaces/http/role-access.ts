import type { AdminAccess } from '@waybill/admin'
import type { Caller } from '../../application/caller.ts'
import type { Principal } from './token-authenticator.ts'

/** The token has none of the roles that may use orders. */
export class MissingRoleError extends Error {
  constructor() {
    super('Orders are for the roles USER and ADMIN. The access token has neither.')
    this.name = 'MissingRoleError'
  }
}

/** Returns the caller of use cases. @throws MissingRoleError */
export function callerOf({ subject, roles }: Principal): Caller {
  const isAdmin = roles.has('ADMIN')
  if (!isAdmin && !roles.has('USER')) throw new MissingRoleError()
  return { subject, isAdmin }
}

const operator: AdminAccess = {
  'bindings:read': true,
  'bindings:operate': true,
  'dlt:read': true,
  'dlt:replay': true,
  'dlt:triage': true,
  'dlt:release': true,
  'outbox:read': true,
  'outbox:replay': true,
  'operations:read': true,
  'operations:control': true,
  'topics:read': true,
  'groups:read': true,
}

/** Returns what roles may do in the admin API. */
export function operatorAccessOf(roles: Iterable<string>): AdminAccess {
  const held = new Set(roles)
  if (held.has('ADMIN')) return 'ALL'
  if (held.has('OPERATOR')) return operator
  return held.has('VIEWER') ? 'READ_ONLY' : 'FORBIDDEN'
}
