import { type AdminPermission, allPermissions, readOnlyPermissions } from './permission.ts'

/** The operator who sends a request, as the host authenticated them. */
export interface AdminIdentity {
  /** The name in the audit log. */
  readonly by: string
  readonly roles?: readonly string[]
}

/** A permission for everything, or for the named bindings, outboxes and projections only. */
export type AdminGrant = boolean | readonly string[]

/** The permissions of an operator. */
export type AdminAccess = 'ALL' | 'READ_ONLY' | 'FORBIDDEN' | Readonly<Partial<Record<AdminPermission, AdminGrant>>>

/** The resolved permissions of one request. */
export class Grants {
  readonly #grants: ReadonlyMap<AdminPermission, true | readonly string[]>

  constructor(access: AdminAccess) {
    this.#grants = new Map(allPermissions.flatMap((permission) => entryOf(access, permission)))
  }

  /** Returns whether the permission is granted for at least one subject. */
  has(permission: AdminPermission): boolean {
    return this.#grants.has(permission)
  }

  /** Returns whether the permission is granted for a subject. Without a subject it must be granted for all. */
  allows(permission: AdminPermission, subject: string | undefined): boolean {
    const grant = this.#grants.get(permission)
    return grant === true || (grant !== undefined && subject !== undefined && grant.includes(subject))
  }

  /** Returns the permissions as they were granted, for the caller to read. */
  toJSON(): Record<string, AdminGrant> {
    return Object.fromEntries(allPermissions.map((permission) => [permission, this.#grants.get(permission) ?? false]))
  }
}

function entryOf(
  access: AdminAccess,
  permission: AdminPermission,
): readonly (readonly [AdminPermission, true | readonly string[]])[] {
  if (access === 'FORBIDDEN') return []
  if (access === 'ALL') return [[permission, true]]
  if (access === 'READ_ONLY') return readOnlyPermissions.includes(permission) ? [[permission, true]] : []
  // Own members only: a host may pass an object of its own class, and a prototype grants nothing.
  const grant = Object.hasOwn(access, permission) ? access[permission] : undefined
  if (grant === true) return [[permission, true]]
  return Array.isArray(grant) && grant.length > 0 ? [[permission, [...grant]]] : []
}
