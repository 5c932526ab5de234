"""Campaigns: many kernels and shapes, tuned on many machines at once.

`campaign` is all that there is to call.  Nothing here imports Dask before a cluster is used.
"""

from polytune.campaigns.campaign import CampaignEntry, CampaignResult, campaign

__all__ = ["CampaignEntry", "CampaignResult", "campaign"]
