/** The right to a part of the admin API. */
export type AdminPermission =
  | 'bindings:read'
  /** Start, stop, pause, resume. */
  | 'bindings:operate'
  /** Register and destroy. */
  | 'bindings:register'
  /** Seek, skip, reset. */
  | 'bindings:position'
  | 'losses:acknowledge'
  /** Dead letters without their payloads. */
  | 'dlt:read'
  | 'dlt:replay'
  | 'dlt:release'
  | 'dlt:edit'
  | 'dlt:purge'
  /** Notes and states of failure groups. */
  | 'dlt:triage'
  /** Keys, values, header values and error messages of records and rows. */
  | 'payloads:read'
  /** Bytes as they are stored, even where a mask applies. */
  | 'payloads:raw'
  | 'outbox:read'
  | 'outbox:replay'
  | 'outbox:purge'
  | 'projections:read'
  | 'projections:rebuild'
  | 'topics:read'
  | 'topics:apply'
  | 'groups:read'
  | 'operations:read'
  /** Operations of other operators; those of one's own need none. */
  | 'operations:control'
  | 'audit:read'

/** Every permission, in the order of the documentation. */
export const allPermissions: readonly AdminPermission[] = [
  'bindings:read',
  'bindings:operate',
  'bindings:register',
  'bindings:position',
  'losses:acknowledge',
  'dlt:read',
  'dlt:replay',
  'dlt:release',
  'dlt:edit',
  'dlt:purge',
  'dlt:triage',
  'payloads:read',
  'payloads:raw',
  'outbox:read',
  'outbox:replay',
  'outbox:purge',
  'projections:read',
  'projections:rebuild',
  'topics:read',
  'topics:apply',
  'groups:read',
  'operations:read',
  'operations:control',
  'audit:read',
]

/** Permissions of READ_ONLY: all that read, except payloads and the audit log. */
export const readOnlyPermissions: readonly AdminPermission[] = allPermissions.filter(
  (permission) => permission.endsWith(':read') && permission !== 'payloads:read' && permission !== 'audit:read',
)
