import type { ConnectorOptions } from '../../src/api/connector.ts'

/** An administration for tests about something else: every operator may do everything, and no entry is kept. */
export const openAdministration = {
  auditLog: { write: () => {} },
  permits: () => true,
} as const satisfies ConnectorOptions['administration']
