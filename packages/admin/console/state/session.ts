/** The operator and their permissions. The server decides again at each request; here it only says why a button is off. */

import { type ReadonlySignal, signal } from '@preact/signals'
import type { Schemas } from '../api/api-types.ts'
import { call } from '../api/client.ts'
import { type Problem, problemOf } from '../api/problem.ts'
import { after } from './clock.ts'

const known = signal<Schemas['Me'] | undefined>(undefined)
const trouble = signal<Problem | undefined>(undefined)

/** The operator; undefined until the server has answered. */
export const me: ReadonlySignal<Schemas['Me'] | undefined> = known

/** Why the server did not say who asks. */
export const meProblem: ReadonlySignal<Problem | undefined> = trouble

const away = signal(false)
/** Then a change may be tried again. */
const auditRetryMs = 15_000
let stopAway: (() => void) | undefined

/** Whether the last change was refused because the audit log could not be written. */
export const auditAway: ReadonlySignal<boolean> = away

/** Notes whether a change reached the audit log. */
export function noteAudit(problem: Problem | undefined): void {
  stopAway?.()
  away.value = problem?.code === 'WAYBILL_AUDIT_UNWRITABLE'
  stopAway = away.value ? after(auditRetryMs, () => noteAudit(undefined)) : undefined
}

/** Asks the server who this is. */
export async function loadMe(): Promise<void> {
  try {
    known.value = await call('getMe', {})
    trouble.value = undefined
  } catch (error) {
    trouble.value = problemOf(error)
  }
}

/** Whether something may be done. */
export type Permit = { readonly isAllowed: true } | { readonly isAllowed: false; readonly because: string }

/** Returns whether the operator has a permission. @param subject - a binding, outbox or projection; undefined: for any */
export function may(permission: string, subject?: string): Permit {
  const { value } = known
  if (value === undefined) return { isAllowed: false, because: 'The server has not said yet who you are.' }
  if (away.value && !permission.endsWith(':read'))
    return { isAllowed: false, because: 'The audit log cannot be written, so nothing is changed.' }
  const grant = value.permissions[permission]
  if (grant === true) return { isAllowed: true }
  const list = Array.isArray(grant) ? (grant as readonly unknown[]) : []
  if (list.length > 0 && (subject === undefined || list.includes(subject))) return { isAllowed: true }
  return {
    isAllowed: false,
    because: `Needs ${permission}${subject === undefined ? '' : ` for ${subject}`}. You are ${value.by}${rolesOf(value)}.`,
  }
}

/** Returns whether something can be read at all. */
export function sees(permission: string): boolean {
  return may(permission).isAllowed
}

function rolesOf({ roles, permissions }: Schemas['Me']): string {
  if (roles.length > 0) return ` (${roles.join(', ')})`
  const changes = Object.entries(permissions).filter(([name, grant]) => grant !== false && !name.endsWith(':read'))
  return changes.length === 0 ? ' (read-only)' : ''
}
