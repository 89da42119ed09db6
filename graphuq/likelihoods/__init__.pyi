from .check import check_likelihood as check_likelihood
from .contract import Likelihood as Likelihood
from .contract import Observed as Observed
from .ginzburg_landau import GinzburgLandau as GinzburgLandau
from .level_set import LevelSet as LevelSet
from .noisy_probit import NoisyProbit as NoisyProbit
from .probit import Probit as Probit
from .sign_model import SignModel as SignModel
