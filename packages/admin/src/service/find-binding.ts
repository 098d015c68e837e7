import type { BindingView, Connector } from '@waybill/connector'
import { BindingNotFoundError } from '@waybill/connector'
import type { Grants } from '../access/access.ts'
import type { AdminPermission } from '../access/permission.ts'
import { AdminNotFoundError } from '../problem/admin-errors.ts'
import { type Call, requirePermission } from '../route/call.ts'

/** The cluster of bindings that name none. */
const defaultCluster = 'default'

/** Returns the name of a binding in permissions and answers: with its cluster unless that is the default one. */
export function bindingKey({ cluster, name }: Pick<BindingView, 'cluster' | 'name'>): string {
  return cluster === defaultCluster ? name : `${cluster}:${name}`
}

/** Returns the bindings that an operator may see. */
export function visibleBindings(connector: Connector | undefined, grants: Grants): readonly BindingView[] {
  return (connector?.listBindings() ?? []).filter((view) => grants.allows('bindings:read', bindingKey(view)))
}

/** A binding of a connector, found for an operator. */
export interface FoundBinding {
  readonly connector: Connector
  readonly view: BindingView
  readonly key: string
}

/**
 * Finds a binding by its name or `{cluster}:{name}`, and requires a permission for it.
 * @throws BindingNotFoundError, with the names that the operator may see; OperationForbiddenError
 */
export function findBinding(
  connector: Connector | undefined,
  call: Pick<Call, 'grants' | 'identity'>,
  name: string,
  permission: AdminPermission,
): FoundBinding {
  if (connector === undefined) throw new AdminNotFoundError('This server has no connector.')
  const views = connector.listBindings()
  const named = views.filter((one) => one.name === name)
  const found =
    views.find((one) => `${one.cluster}:${one.name}` === name) ??
    named.find(({ cluster }) => cluster === defaultCluster) ??
    (named.length === 1 ? named[0] : undefined)
  const key = found === undefined ? undefined : bindingKey(found)
  const known = visibleBindings(connector, call.grants).map(bindingKey)
  const isKnown = key !== undefined && (known.includes(key) || call.grants.allows(permission, key))
  // A binding that the operator may not see is answered as one that does not exist, unless they may see all.
  if (found === undefined || key === undefined || !isKnown) {
    if (!call.grants.allows(permission, undefined) && !call.grants.has(permission))
      requirePermission(call, permission, name)
    throw Object.assign(new BindingNotFoundError(shortened(name), known, named.length > 1), { details: { known } })
  }
  requirePermission(call, permission, key)
  return { connector, view: found, key }
}

function shortened(name: string): string {
  return name.length > 200 ? `${name.slice(0, 200)}…` : name
}
