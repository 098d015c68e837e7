import { hasMethods } from '../option/has-methods.ts'
import { func, instance, nested, optional, type Rule } from '../option/rule.ts'
import type { AdministrationOptions, AuditLog } from './audit-log.ts'

/** The rule of an `administration` option. */
export const administrationRule: Rule<AdministrationOptions> = nested({
  auditLog: optional(instance<AuditLog>('an AuditLog', (value) => hasMethods(value, 'write'))),
  permits: optional(func<NonNullable<AdministrationOptions['permits']>>()),
})
