import type { AuditLog } from '@waybill/core'
import type { AuditReader } from '@waybill/core/internal'
import type { Harness } from '../suite/harness.ts'

/** An empty audit log for one test. */
export interface AuditUnderTest {
  /** Two processes on the same log. In memory: the same log twice. */
  readonly logs: readonly [AuditLog & AuditReader, AuditLog & AuditReader]
}

/** Gives the suite audit logs to test. */
export type AuditLogHarness = Harness<AuditUnderTest, never>
