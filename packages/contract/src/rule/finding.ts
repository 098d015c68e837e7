import type { CompatibilityDirection } from '../policy/compatibility-mode.ts'
import type { JsonValue } from '../schema/json.ts'
import type { ContractRule } from './rule.ts'
import { contractRules, type RuleName } from './rules.ts'

/** BREAKING is what the policy forbids. WARNING is stricter than the policy, or not decidable; `strict` makes it BREAKING. */
export type FindingSeverity = 'BREAKING' | 'WARNING' | 'INFO'

/** One place where two versions of a schema do not fit each other. */
export interface ContractFinding {
  /** Stable; the reference lists each with an explanation and a remedy. */
  readonly code: ContractRule['code']
  readonly severity: FindingSeverity
  /** The readers affected: BACKWARD is new readers of old events; null for a finding about one version. */
  readonly direction: CompatibilityDirection | null
  /** JSON Pointers into the older and the newer schema; null where one has no such place. */
  readonly at: { readonly older: string | null; readonly newer: string | null }
  readonly message: string
  /** A way to the same end that breaks no reader. */
  readonly remedy: string
  /** An event that one version writes and the other refuses, checked; absent where none was found. */
  readonly example?: JsonValue
}

/** Creates a finding of a rule. */
export function findingOf(
  rule: RuleName,
  fields: Omit<ContractFinding, 'code' | 'remedy' | 'severity'> & { readonly severity?: FindingSeverity },
): ContractFinding {
  const { code, remedy } = contractRules[rule]
  return { code, severity: fields.severity ?? 'WARNING', ...fields, remedy }
}
